/** A voice change: POST /v1/speech-to-speech/{voice_id} with the recording as multipart. */
import type { VoiceChangeRequest } from '../shared/provider.ts';
import { maxOutputBytes, OUTPUT_FORMAT, type Plan, pathVoice, refuseOrder } from './plannedCall.ts';

/** Seeds of the service are unsigned 32-bit; ours are any integer from 0. */
const SEED_RANGE = 2 ** 32;

export function planVoiceChange(request: VoiceChangeRequest): Plan {
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
    // The service goes by the content; the name says nothing about the person's file.
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
