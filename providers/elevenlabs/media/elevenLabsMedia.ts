/** Speech, transcripts and voices of ElevenLabs while the client waits. One call each, never repeated here. */
import { createTextHttp, type TextCall, type TextReply } from '../../../infra/http/textHttp.ts';
import type { MediaCallContext, MediaProvider } from '../../shared/mediaProvider.ts';
import { MAX_SPEECH_BYTES, openSpeech } from '../../shared/speechStream.ts';
import { inOurWords } from '../../shared/textFailures.ts';
import { errorReplyOf, jsonOf } from '../../shared/textReply.ts';
import { type ElevenLabsOptions, serviceAddress } from '../elevenlabs.ts';
import { failureOfReply } from './failures.ts';
import { speechCall } from './speech.ts';
import { readTranscript, transcriptionCall } from './transcription.ts';
import { cloneCall, readVoice } from './voiceClone.ts';

export interface ElevenLabsMediaOptions extends ElevenLabsOptions {
  /** The provider entry, for the metrics. */
  name: string;
}

export type ElevenLabsMedia = Required<Pick<MediaProvider, 'speak' | 'transcribe' | 'cloneVoice' | 'close'>>;

const MAX_TRANSCRIPT_BYTES = 32 * 1024 * 1024;
const MAX_VOICE_BYTES = 64 * 1024;

export function createElevenLabsMedia(options: ElevenLabsMediaOptions): ElevenLabsMedia {
  const { name, apiKey, allowPrivateNetwork, timeouts } = options;
  const http = createTextHttp({
    ...{ name, allowPrivateNetwork, timeouts },
    baseUrl: serviceAddress(options),
    headers: { 'xi-api-key': apiKey },
  });
  const post = async (call: Omit<TextCall, 'signal'>, asked: Asked): Promise<TextReply> => {
    const reply = await http.post({ ...call, signal: asked.context.signal });
    if (reply.status !== 200) throw failureOfReply(await errorReplyOf(reply), asked.custom);
    return reply;
  };
  return {
    speak: (order, context) =>
      inOurWords(async () => {
        const { call, custom } = speechCall(order);
        const reply = await post({ ...call, maxBytes: MAX_SPEECH_BYTES }, { context, custom });
        return await openSpeech(reply, order.format);
      }),
    transcribe: (order, context) =>
      inOurWords(async () => {
        const call = { ...transcriptionCall(order), maxBytes: MAX_TRANSCRIPT_BYTES };
        return readTranscript(await jsonOf(await post(call, { context, custom: false })), order);
      }),
    cloneVoice: (sample, context) =>
      inOurWords(async () => {
        const call = { ...cloneCall(sample), maxBytes: MAX_VOICE_BYTES };
        return readVoice(await jsonOf(await post(call, { context, custom: false })));
      }),
    close: () => http.close(),
  };
}

interface Asked {
  context: MediaCallContext;
  /** The client named a voice by an id of its own. */
  custom: boolean;
}
