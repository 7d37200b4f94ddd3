/**
 * ElevenLabs: voice changes and audio from text. Each order is one synchronous call whose reply is the audio. The
 * service takes no idempotency key or reference, so an order is never retried blindly. There is no `find`: the history
 * lists the service's own ids, times, voices and texts, and two orders of one minute look alike. It is empty for
 * accounts with zero retention. A guess could hand one client's output to another, so a lost reply stays unknown and
 * the job is refunded.
 */
import { join } from 'node:path';
import { createServiceHttp, type ServiceHttp } from '../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import { checkAudioFile } from '../shared/audioFile.ts';
import { unservedOutcome } from '../shared/failedReply.ts';
import type { CallContext, GenerationProvider, Outcome, VoiceChangeRequest } from '../shared/provider.ts';
import { outcomeOfLostOrder } from '../shared/queuedJobs.ts';
import type { ServiceAccess } from '../shared/serviceAddresses.ts';
import { printableType } from '../shared/textFailures.ts';
import { planAudio } from './audio.ts';
import { outcomeOfError, replyFacts } from './errorReply.ts';
import { maxOutputBytes, OUTPUT_FORMAT, type Plan, type PlannedCall, pathVoice, refuseOrder } from './plannedCall.ts';

const BASE_URL = 'https://api.elevenlabs.io';
/** The service converts before it replies; its own client waits as long. */
const FIRST_BYTE_MS = 240_000;
/** The service takes unsigned 32-bit seeds; orders may have any integer from 0. */
const SEED_RANGE = 2 ** 32;

export function createElevenLabs(options: ServiceAccess): GenerationProvider {
  const http = createServiceHttp({
    baseUrl: serviceAddress(options),
    allowPrivateNetwork: options.allowPrivateNetwork,
    headers: { 'xi-api-key': options.apiKey },
    timeouts: { firstByteMs: FIRST_BYTE_MS, ...options.timeouts },
  });
  return {
    repeatable: false,
    async start(request, context) {
      if (request.kind === 'video') return unservedOutcome(request);
      const plan = request.kind === 'audio' ? planAudio(request) : planVoiceChange(request);
      if ('status' in plan) return plan;
      return await perform(http, plan, context);
    },
  };
}

/** Base URL without the version, which is part of each path. */
export function serviceAddress({ baseUrl = BASE_URL }: Pick<ServiceAccess, 'baseUrl'>): string {
  return baseUrl.replace(/\/+(v1\/*)?$/, '');
}

/** POST /v1/speech-to-speech/{voice_id} with the recording as multipart. */
function planVoiceChange(request: VoiceChangeRequest): Plan {
  const voice = pathVoice(request.voice);
  if (voice === undefined) return refuseOrder('The voice id is malformed.');
  const fields: Record<string, string> = {
    model_id: request.upstreamModel,
    remove_background_noise: String(request.removeBackgroundNoise),
    file_format: 'other',
  };
  if (request.seed !== undefined) fields.seed = String(request.seed % SEED_RANGE);
  const audio = {
    name: 'audio',
    path: request.sourcePath,
    // The service detects the type from the content. A fixed name hides the client's file name.
    filename: 'source',
    contentType: request.sourceContentType,
  };
  const call = {
    method: 'POST' as const,
    path: `/v1/speech-to-speech/${encodeURIComponent(voice.id)}`,
    query: { output_format: OUTPUT_FORMAT },
    multipart: { fields, files: [audio] },
  };
  return { call, maxBytes: maxOutputBytes(request.sourceSeconds), custom: voice.custom };
}

async function perform(http: ServiceHttp, plan: PlannedCall, context: CallContext): Promise<Outcome> {
  const path = join(context.workFolder, 'elevenlabs.mp3');
  const call = { ...plan.call, signal: context.signal };
  try {
    const reply = await http.download(call, { path, maxBytes: plan.maxBytes });
    if (!reply.saved) return outcomeOfError(reply, plan.custom);
    return await delivered(path, reply.headers);
  } catch (error) {
    if (error instanceof ServiceHttpError && error.isTooLarge) return unusable(error.message);
    return outcomeOfLostOrder(error);
  }
}

/** Checks the audio: a 2xx status alone does not prove success. */
async function delivered(path: string, headers: Record<string, string>): Promise<Outcome> {
  const told = replyFacts(headers);
  const declared = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const check = await checkAudioFile(path);
  if (!check.ok) return unusable(`${check.detail}, declared as ${printableType(declared)}${told}`);
  const plausible = declared.startsWith('audio/') || declared === 'application/octet-stream';
  if (check.contentType !== 'audio/mpeg' || !plausible) {
    return unusable(`${check.contentType} instead of audio/mpeg, declared as ${printableType(declared)}${told}`);
  }
  const output = { path, contentType: check.contentType, providerReference: `elevenlabs${told}` };
  return { status: 'done', output };
}

function unusable(detail: string): Outcome {
  return {
    status: 'refused',
    reason: 'failed',
    message: 'The audio service answered no usable audio.',
    detail,
  };
}
