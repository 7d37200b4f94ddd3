/**
 * ElevenLabs speech to speech: one synchronous call, POST /v1/speech-to-speech/{voice_id}, whose answer is the audio.
 *
 * No operation of the service takes an idempotency key or a reference of ours, so an order is never repeated blindly and
 * there is no `find`: its history lists its own ids, times and voices, by which two orders of the same minute and voice
 * cannot be told apart, and it is empty for accounts with zero retention. A guess there would hand one client's recording
 * to another; a lost reply stays unknown and the job is refunded.
 */
import { join } from 'node:path';
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import { createProviderHttp, type ProviderHttp, ProviderHttpError } from '../../infra/http/providerHttp.ts';
import { BodyTooLarge } from '../../infra/http/saveBody.ts';
import { checkAudioFile } from '../audioFile.ts';
import { withHeartbeat } from '../heartbeat.ts';
import type { CallContext, GenerationProvider, Outcome, VoiceChangeRequest } from '../provider.ts';
import { unserved } from '../unserved.ts';
import { outcomeOfError } from './errorReply.ts';
import { replyFacts } from './replyFacts.ts';
import { toVoice, type Voice } from './voices.ts';

export interface ElevenLabsOptions {
  apiKey: string;
  /** Default: the published address. */
  baseUrl?: string | undefined;
  allowPrivateNetwork?: boolean | undefined;
  timeouts?: Partial<ProviderTimeouts> | undefined;
}

const BASE_URL = 'https://api.elevenlabs.io';
/** The service converts before it answers; its own client waits as long. */
const FIRST_BYTE_MS = 240_000;
const OUTPUT_FORMAT = 'mp3_44100_128';
/** Four times what the output format needs, and something for a short one. */
const MAX_OUTPUT_BYTES_PER_SECOND = 64_000;
const MAX_OUTPUT_BYTES_BASE = 2_000_000;
/** Seeds of the service are unsigned 32-bit; ours are any integer from 0. */
const SEED_RANGE = 2 ** 32;
const VOICE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$/;

export function createElevenLabs(options: ElevenLabsOptions): GenerationProvider {
  const http = createProviderHttp({
    baseUrl: (options.baseUrl ?? BASE_URL).replace(/\/+(v1\/*)?$/, ''),
    allowPrivateNetwork: options.allowPrivateNetwork,
    headers: { 'xi-api-key': options.apiKey },
    timeouts: { firstByteMs: FIRST_BYTE_MS, ...options.timeouts },
  });
  return {
    repeatable: false,
    async start(request, context) {
      if (request.kind !== 'voice-changer') return unserved(request);
      return await withHeartbeat(context, () => convert(http, request, context));
    },
  };
}

async function convert(
  http: ProviderHttp,
  request: VoiceChangeRequest,
  context: CallContext,
): Promise<Outcome> {
  const voice = toVoice(request.voice);
  if (!VOICE_ID.test(voice.id)) {
    return { status: 'refused', reason: 'invalid_request', message: 'The voice id is malformed.' };
  }
  const path = join(context.workFolder, 'elevenlabs.mp3');
  const maxBytes = MAX_OUTPUT_BYTES_BASE + Math.ceil(request.sourceSeconds) * MAX_OUTPUT_BYTES_PER_SECOND;
  try {
    const reply = await http.download(conversion(request, voice, context.signal), { path, maxBytes });
    if (!reply.saved) return outcomeOfError(reply, voice.custom);
    return await delivered(path, reply.headers);
  } catch (error) {
    if (error instanceof ProviderHttpError) return outcomeOfFailure(error);
    throw error;
  }
}

function conversion(request: VoiceChangeRequest, voice: Voice, signal: AbortSignal) {
  const fields: Record<string, string> = {
    model_id: request.upstreamModel,
    remove_background_noise: String(request.removeBackgroundNoise),
    file_format: 'other',
  };
  if (request.seed !== undefined) fields.seed = String(request.seed % SEED_RANGE);
  const audio = {
    name: 'audio',
    path: request.sourcePath,
    // The service goes by the content; the name says nothing about the person's file.
    filename: 'source',
    contentType: request.sourceContentType,
  };
  return {
    method: 'POST' as const,
    path: `/v1/speech-to-speech/${encodeURIComponent(voice.id)}`,
    query: { output_format: OUTPUT_FORMAT },
    multipart: { fields, files: [audio] },
    signal,
  };
}

/** A 2xx is believed only when its body is the audio that was asked for. */
async function delivered(path: string, headers: Record<string, string>): Promise<Outcome> {
  const told = replyFacts(headers);
  const declared = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const check = await checkAudioFile(path);
  if (!check.ok) return unusable(`${check.detail}, declared as ${printable(declared)}${told}`);
  const plausible = declared.startsWith('audio/') || declared === 'application/octet-stream';
  if (check.contentType !== 'audio/mpeg' || !plausible) {
    return unusable(`${check.contentType} instead of audio/mpeg, declared as ${printable(declared)}${told}`);
  }
  const output = { path, contentType: check.contentType, providerReference: `elevenlabs${told}` };
  return { status: 'done', output };
}

function outcomeOfFailure(error: ProviderHttpError): Outcome {
  const detail = error.message;
  // Refused, unresolvable, no TLS: nothing was accepted, so another try is safe.
  if (error.sent === 'not_sent') return { status: 'busy', reason: 'overloaded', detail };
  if (error.cause instanceof BodyTooLarge) return unusable(detail);
  return { status: 'unknown', detail };
}

function unusable(detail: string): Outcome {
  return {
    status: 'refused',
    reason: 'failed',
    message: 'The voice service answered no usable audio.',
    detail,
  };
}

function printable(text: string): string {
  return /^[\w.+/-]{1,80}$/.test(text) ? text : 'something else';
}
