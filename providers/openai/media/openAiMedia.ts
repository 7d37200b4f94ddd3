/**
 * Images, transcripts and speech of OpenAI and of every service with its API. Calls are never retried here: no
 * operation takes an idempotency key.
 */

import type { GuardedFetch } from '../../../infra/http/guardedFetch.ts';
import {
  createServiceHttp,
  type ServiceHttp,
  type ServicePost,
  type ServiceReply,
} from '../../../infra/http/serviceHttp.ts';
import type { MediaCallContext, MediaProvider, Speech, SpeechOrder } from '../../shared/mediaProvider.ts';
import { MAX_SPEECH_BYTES, openSpeech } from '../../shared/speechStream.ts';
import { garbageFailure, translateFailures } from '../../shared/textFailures.ts';
import { errorReplyOf, jsonOf } from '../../shared/textReply.ts';
import { type Dialect, dialectNameOf, dialectOf } from '../dialects.ts';
import { errorIn, failureOfError, failureOfReply } from '../errorReply.ts';
import { OPENAI_BASE_URL, type OpenAiOptions } from '../openai.ts';
import type { OpenAiDialect } from '../settings.ts';
import { editCall, orderCall } from './images.ts';
import { createFetchPicture, type ExpectedPictures, type FetchPicture, readPictures } from './pictures.ts';
import { readTranscript, transcriptionCall } from './transcription.ts';

export interface OpenAiMediaOptions extends Omit<OpenAiOptions, 'xSearch'> {
  guardedFetch: GuardedFetch;
}

export type OpenAiMedia = Required<Pick<MediaProvider, 'makeImages' | 'editImage' | 'transcribe' | 'speak' | 'close'>>;

/** Includes the third that base64 adds. */
const MAX_PICTURES_BYTES = 96 * 1024 * 1024;
const MAX_TRANSCRIPT_BYTES = 32 * 1024 * 1024;

export function createOpenAiMedia(options: OpenAiMediaOptions): OpenAiMedia {
  const service = openService(options);
  const { dialect, dialectName, fetchPicture } = service;
  const pictures = async (call: MediaPost, awaited: Omit<ExpectedPictures, 'fetchPicture'>) => {
    const asked = { ...call, maxBytes: MAX_PICTURES_BYTES };
    const reply = await post(service, asked, awaited.context);
    return await readPictures(reply, { ...awaited, fetchPicture });
  };
  return {
    makeImages: (order, context) =>
      translateFailures(() => pictures(orderCall(order, dialect), { count: order.count, context })),
    editImage: (edit, context) =>
      translateFailures(async () => {
        const [made] = await pictures(await editCall(edit, dialect), { count: 1, context });
        if (made === undefined) throw garbageFailure('no picture');
        return made;
      }),
    transcribe: (order, context) =>
      translateFailures(async () => {
        const call = { ...transcriptionCall(order, dialectName), maxBytes: MAX_TRANSCRIPT_BYTES };
        return readTranscript(await jsonOf(await post(service, call, context)), order);
      }),
    speak: (order, context) =>
      translateFailures(async () => {
        const call = { ...speechCall(order, dialect), maxBytes: MAX_SPEECH_BYTES };
        return await speechOf(await post(service, call, context), order.format);
      }),
    close: () => service.http.destroy(),
  };
}

interface OpenAiMediaService {
  http: ServiceHttp;
  dialect: Dialect;
  dialectName: OpenAiDialect;
  fetchPicture: FetchPicture;
}

type MediaPost = Omit<ServicePost, 'signal'>;

function openService({ guardedFetch, ...options }: OpenAiMediaOptions): OpenAiMediaService {
  const { baseUrl = OPENAI_BASE_URL, apiKey, dialect: chosen, name, ...reached } = options;
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const access = { ...reached, baseUrl, headers };
  return {
    http: createServiceHttp({ ...access, name, keepsConnections: true }),
    dialect: dialectOf(baseUrl, chosen),
    dialectName: dialectNameOf(baseUrl, chosen),
    fetchPicture: createFetchPicture(access, guardedFetch),
  };
}

async function post(
  { http }: OpenAiMediaService,
  call: MediaPost,
  { signal }: MediaCallContext,
): Promise<ServiceReply> {
  const reply = await http.post({ ...call, signal });
  if (reply.status !== 200) throw failureOfReply(await errorReplyOf(reply), Date.now());
  return reply;
}

/** These models ignore `instructions`. */
const WITHOUT_INSTRUCTIONS = /^tts-1/;

/** POST /audio/speech. */
function speechCall(order: SpeechOrder, dialect: Dialect): Pick<ServicePost, 'path' | 'json'> {
  const { upstreamModel, text, voice, format, speed, style } = order;
  const json = {
    model: upstreamModel,
    input: text,
    voice,
    response_format: format,
    ...(speed !== 1 && { speed }),
    ...(style !== undefined && !WITHOUT_INSTRUCTIONS.test(upstreamModel) && { instructions: style }),
    // OpenAI supports none of these: it detects the language from the text.
    ...(!dialect.openAiFields && {
      language: order.language,
      temperature: order.temperature,
      top_p: order.topP,
    }),
  };
  return { path: '/audio/speech', json };
}

/** Errors may come with status 200. */
async function speechOf(reply: ServiceReply, format: SpeechOrder['format']): Promise<Speech> {
  if (!(reply.headers['content-type'] ?? '').includes('json')) return await openSpeech(reply, format);
  const error = errorIn(await jsonOf(reply));
  throw error === undefined ? garbageFailure('JSON in place of audio') : failureOfError(error);
}
