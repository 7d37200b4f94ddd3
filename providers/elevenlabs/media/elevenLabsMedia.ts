/** Synchronous speech, transcripts and voice cloning by ElevenLabs. Calls are never retried here. */
import { randomUUID } from 'node:crypto';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import {
  createServiceHttp,
  type ServicePost,
  type ServiceReply,
  type WholeReply,
} from '../../../infra/http/serviceHttp.ts';
import { reasonOfStatus } from '../../shared/failedReply.ts';
import { failureOfOutcome } from '../../shared/mediaFailures.ts';
import type { MediaProvider, Transcript, TranscriptionOrder, VoiceSample } from '../../shared/mediaProvider.ts';
import type { ServiceAccess } from '../../shared/serviceAddresses.ts';
import { MAX_SPEECH_BYTES, openSpeech } from '../../shared/speechStream.ts';
import { garbageFailure, isFields, translateFailures } from '../../shared/textFailures.ts';
import { errorReplyOf, jsonOf } from '../../shared/textReply.ts';
import { recordingPart, spanIn, textIn } from '../../shared/transcripts.ts';
import { serviceAddress } from '../elevenlabs.ts';
import { outcomeOfError } from '../errorReply.ts';
import { pathVoice } from '../plannedCall.ts';
import { speechCall } from './speech.ts';

export interface ElevenLabsMediaOptions extends ServiceAccess {
  /** Provider entry, for the metrics. */
  name: string;
}

export type ElevenLabsMedia = Required<Pick<MediaProvider, 'speak' | 'transcribe' | 'cloneVoice' | 'close'>>;

const MAX_TRANSCRIPT_BYTES = 32 * 1024 * 1024;
const MAX_VOICE_BYTES = 64 * 1024;

export function createElevenLabsMedia(options: ElevenLabsMediaOptions): ElevenLabsMedia {
  const { name, apiKey, allowPrivateNetwork, timeouts } = options;
  const http = createServiceHttp({
    ...{ name, allowPrivateNetwork, timeouts },
    baseUrl: serviceAddress(options),
    headers: { 'xi-api-key': apiKey },
    keepsConnections: true,
  });
  const post = async (call: ServicePost, custom = false): Promise<ServiceReply> => {
    const reply = await http.post(call);
    if (reply.status !== 200) throw failureOfReply(await errorReplyOf(reply), custom);
    return reply;
  };
  return {
    speak: (order, { signal }) =>
      translateFailures(async () => {
        const { call, custom } = speechCall(order);
        const reply = await post({ ...call, maxBytes: MAX_SPEECH_BYTES, signal }, custom);
        return await openSpeech(reply, order.format);
      }),
    transcribe: (order, { signal }) =>
      translateFailures(async () => {
        const call = { ...transcriptionCall(order), maxBytes: MAX_TRANSCRIPT_BYTES, signal };
        return readTranscript(await jsonOf(await post(call)), order);
      }),
    cloneVoice: (sample, { signal }) =>
      translateFailures(async () => {
        const call = { ...cloneCall(sample), maxBytes: MAX_VOICE_BYTES, signal };
        return readVoice(await jsonOf(await post(call)));
      }),
    close: () => http.destroy(),
  };
}

function failureOfReply(reply: WholeReply, custom: boolean): UpstreamFailure {
  const { status } = reply;
  const outcome = outcomeOfError(reply, custom);
  if (outcome.status !== 'unknown' && status >= 400) return failureOfOutcome(outcome, status);
  // A redirect, or a page of a proxy before the service.
  return new UpstreamFailure({
    reason: reasonOfStatus(status, false),
    detail: outcome.detail ?? `HTTP ${status}`,
    status,
  });
}

/** POST /v1/speech-to-text. */
function transcriptionCall(order: TranscriptionOrder): Pick<ServicePost, 'path' | 'multipart'> {
  const { upstreamModel, recording, language, timestamps } = order;
  const fields = {
    model_id: upstreamModel,
    ...(language !== undefined && { language_code: language }),
    timestamps_granularity: timestamps ? 'word' : 'none',
    // Otherwise "(laughter)" would count as a word.
    tag_audio_events: 'false',
    diarize: 'false',
  };
  return { path: '/v1/speech-to-text', multipart: { fields, files: [recordingPart('file', recording)] } };
}

function readTranscript(json: unknown, { timestamps }: TranscriptionOrder): Transcript {
  if (!isFields(json) || typeof json.text !== 'string') throw garbageFailure('no transcript');
  if (!timestamps) return { text: json.text };
  if (!Array.isArray(json.words)) throw garbageFailure('no times');
  const words = json.words.flatMap((entry: unknown) => {
    // Entries of the type "spacing" separate words.
    if (isFields(entry) && entry.type !== 'word') return [];
    const span = spanIn(entry);
    return span === undefined ? [] : [{ word: textIn(entry, 'text'), ...span }];
  });
  return { text: json.text, words };
}

/** POST /v1/voices/add: the voice is available at once. */
function cloneCall({ recording }: VoiceSample): Pick<ServicePost, 'path' | 'multipart'> {
  // The account lists voices by name. A random one does not identify the client.
  const fields = { name: `farebox-${randomUUID()}` };
  return { path: '/v1/voices/add', multipart: { fields, files: [recordingPart('files', recording)] } };
}

function readVoice(json: unknown): string {
  if (!isFields(json) || typeof json.voice_id !== 'string') throw garbageFailure('no voice');
  if (pathVoice(json.voice_id)?.id !== json.voice_id) throw garbageFailure('a voice without a usable id');
  if (json.requires_verification === true) {
    const message = 'The speaker has to confirm the voice to the service before it can be used.';
    throw new UpstreamFailure({ reason: 'refused', detail: 'the voice requires verification', message });
  }
  return json.voice_id;
}
