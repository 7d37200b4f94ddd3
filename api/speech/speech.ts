/** POST /audio/speech (AUDIO-6): words in, raw audio out, whole or while it is spoken, priced by the character. */

import { type TtsModel, upstreamNameOf } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import { formatOf, isSpeakable } from '../../domain/speech/offer.ts';
import { charactersOf, priceOfSpeech, speechSnapshot } from '../../domain/speech/price.ts';
import { SPEECH_FORMATS, type SpeechFormat, type SpeechOrder } from '../../providers/shared/mediaProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Answer } from '../http/answer.ts';
import { endUserOf } from '../http/endUser.ts';
import { invalid, invalidOffer } from '../http/invalid.ts';
import { modelHeaders } from '../http/modelHeaders.ts';
import { defineRoute, type RouteRequest } from '../http/route.ts';
import { type NamedModel, requireCallable, requireModel } from '../models.ts';
import { purchaseAnswer } from '../paid/purchase.ts';
import { SPEECH_DESCRIPTIONS } from './openapi.ts';
import { DEFAULT_SPEAKER, type SpeechBody, speechBody } from './schema.ts';
import { speechEvents, streamedSpeech, wholeSpeech } from './speechAnswer.ts';
import { operationOf, speechError } from './upstream.ts';
import { resolveVoice } from './voices.ts';

const MAX_BODY_BYTES = 128 * 1024;
/** Time until the first byte, and until the last of an answer that is not streamed. */
const DEADLINE_MS = 180_000;
/** Longest stream, however slow the service or the client is. */
const MAX_STREAM_MS = 900_000;
const SETTLING_MS = 180_000;

type SpeechRequest = RouteRequest<SpeechBody, undefined, 'buyer'>;

export const speechRoute = defineRoute({
  method: 'POST',
  path: '/audio/speech',
  access: 'buyer',
  body: {
    json: { schema: speechBody, maxBytes: MAX_BODY_BYTES },
    ...{ needsModel: true, modelType: 'tts', naming: { fields: ['model'], otherwise: DEFAULT_SPEAKER } },
  },
  deadlineMs: DEADLINE_MS,
  describes: SPEECH_DESCRIPTIONS.speak,
  async handler(dependencies, request: SpeechRequest) {
    const { body } = request;
    const { model, headers } = requireModel(dependencies.core.config, body.model, 'tts');
    if (model.kind !== 'tts') throw invalid('model', 'This endpoint takes speech models only');
    requireCallable(dependencies.core.config, model, request.caller);
    if (body.prompt && body.instructions) throw invalid('instructions', 'Only one of prompt and instructions is used');
    if (!isSpeakable(body.input)) {
      throw new FareboxError({ code: 'invalid_request', message: 'Input must contain speakable text' });
    }
    const order = await orderOf(dependencies, request, model);
    return await spoken(dependencies, request, { named: { model, headers }, order });
  },
});

async function orderOf(
  dependencies: Dependencies,
  { body, caller }: SpeechRequest,
  model: TtsModel,
): Promise<SpeechOrder> {
  const found = formatOf<SpeechFormat>(model, body.response_format, SPEECH_FORMATS);
  if (!found.ok) throw invalidOffer(found);
  const style = body.prompt || body.instructions;
  const voice = await resolveVoice(dependencies, { model, accountId: caller.accountId, wished: body.voice });
  return {
    ...{ upstreamModel: upstreamNameOf(model), endUser: endUserOf(caller.accountId, undefined) },
    ...{ text: body.input, format: found.format, speed: body.speed },
    ...(voice === undefined ? {} : { voice }),
    ...(body.language === undefined ? {} : { language: body.language }),
    ...(style ? { style } : {}),
    ...(body.temperature === undefined ? {} : { temperature: body.temperature }),
    ...(body.top_p === undefined ? {} : { topP: body.top_p }),
  };
}

interface SpeechTask {
  named: NamedModel<TtsModel>;
  order: SpeechOrder;
}

async function spoken(
  dependencies: Dependencies,
  request: SpeechRequest,
  { named, order }: SpeechTask,
): Promise<Answer> {
  const { model } = named;
  const { body, requestId } = request;
  const speak = operationOf(dependencies, model, 'speak');
  dependencies.providers.mediaProviders.get(model.provider)?.checkSpeech?.(order);
  const late = AbortSignal.timeout(MAX_STREAM_MS);
  const signal = AbortSignal.any([request.signal, late]);
  const characters = charactersOf(body.input);
  const isEvents = body.stream_format === 'sse';
  const isStream = body.streaming || isEvents;
  return await purchaseAnswer(dependencies, request, {
    purchase: {
      price: priceOfSpeech(model, characters),
      snapshot: speechSnapshot(model, { characters, requestId }),
      ttlMs: (isStream ? MAX_STREAM_MS : DEADLINE_MS) + SETTLING_MS,
    },
    settles: isStream ? 'at its end' : 'at its first byte',
    work: async () => {
      const workFolder = await dependencies.providers.folders.create();
      const done = () => dependencies.providers.folders.remove(workFolder);
      try {
        const speech = await request.waitFor(speak(order, { workFolder, signal }));
        const form = isEvents ? speechEvents : isStream ? streamedSpeech : wholeSpeech;
        const made: Promise<Answer> = form(speech, { text: order.text, format: order.format, workFolder, late, done });
        const answer = await request.waitFor(made);
        return { ...answer, headers: modelHeaders(request, named) };
      } catch (error) {
        await done();
        throw speechError(error, 'invalid_request');
      }
    },
  });
}
