/**
 * ElevenLabs: voice changes and audio from words. Each order is one synchronous call whose answer is the audio.
 *
 * No operation of the service takes an idempotency key or a reference of ours, so an order is never repeated blindly and
 * there is no `find`: its history lists its own ids, times, voices and texts, by which two orders of the same minute
 * cannot be told apart, and it is empty for accounts with zero retention. A guess there would hand one client's output to
 * another; a lost reply stays unknown and the job is refunded.
 */
import { join } from 'node:path';
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import { createProviderHttp, type ProviderHttp, ProviderHttpError } from '../../infra/http/providerHttp.ts';
import { BodyTooLarge } from '../../infra/http/saveBody.ts';
import { checkAudioFile } from '../shared/audioFile.ts';
import { withHeartbeat } from '../shared/heartbeat.ts';
import type { CallContext, GenerationProvider, Outcome } from '../shared/provider.ts';
import { unserved } from '../shared/unserved.ts';
import { planAudio } from './audio.ts';
import { outcomeOfError } from './errorReply.ts';
import type { PlannedCall } from './plannedCall.ts';
import { replyFacts } from './replyFacts.ts';
import { planVoiceChange } from './voiceChange.ts';

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

export function createElevenLabs(options: ElevenLabsOptions): GenerationProvider {
  const http = createProviderHttp({
    baseUrl: serviceAddress(options),
    allowPrivateNetwork: options.allowPrivateNetwork,
    headers: { 'xi-api-key': options.apiKey },
    timeouts: { firstByteMs: FIRST_BYTE_MS, ...options.timeouts },
  });
  return {
    repeatable: false,
    async start(request, context) {
      if (request.kind === 'video') return unserved(request);
      const plan = request.kind === 'audio' ? planAudio(request) : planVoiceChange(request);
      if ('status' in plan) return plan;
      return await withHeartbeat(context, () => perform(http, plan, context));
    },
  };
}

/** Without the version, which is a part of each path. */
export function serviceAddress({ baseUrl = BASE_URL }: Pick<ElevenLabsOptions, 'baseUrl'>): string {
  return baseUrl.replace(/\/+(v1\/*)?$/, '');
}

async function perform(http: ProviderHttp, plan: PlannedCall, context: CallContext): Promise<Outcome> {
  const path = join(context.workFolder, 'elevenlabs.mp3');
  const call = { ...plan.call, signal: context.signal };
  try {
    const reply = await http.download(call, { path, maxBytes: plan.maxBytes });
    if (!reply.saved) return outcomeOfError(reply, plan.custom);
    return await delivered(path, reply.headers);
  } catch (error) {
    if (error instanceof ProviderHttpError) return outcomeOfFailure(error);
    throw error;
  }
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
    message: 'The audio service answered no usable audio.',
    detail,
  };
}

function printable(text: string): string {
  return /^[\w.+/-]{1,80}$/.test(text) ? text : 'something else';
}
