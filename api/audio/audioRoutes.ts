/** POST /audio/quote, /audio/queue, /audio/retrieve and /audio/complete: music, sounds and speech from words. */
import { durationOf, offerAudio, priceAudio } from '../../domain/generation/audioOffer.ts';
import { type SealedOrder, sealOrder } from '../../domain/generation/sealedOrder.ts';
import { nanoToNumber } from '../../domain/money.ts';
import { failpoint } from '../../infra/failpoints.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, json, withHeaders } from '../http/answer.ts';
import { invalid, invalidOffer } from '../http/invalid.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { requireAudioModel, requireCallable } from '../models.ts';
import { dryRun, isDryRun } from '../paid/dryRun.ts';
import { SMALL_JSON_BYTES } from '../queue/jobBodies.ts';
import { defineCompleteRoute, defineRetrieveRoute } from '../queue/jobRoutes.ts';
import {
  isOrderReplay,
  type JobOrder,
  jobOf,
  placeOrder,
  QUEUE_DEADLINE_MS,
  type QueuedJob,
} from '../queue/placeOrder.ts';
import { sealedParts } from '../queue/sealedParts.ts';
import { readWebhook, withWebhook } from '../queue/webhook.ts';
import { AUDIO_DESCRIPTIONS } from './openapi.ts';
import { audioQueueBody, audioQuoteBody } from './schema.ts';

const kind = 'audio';
/** Prompt and lyrics in four-byte letters, escaped. */
const QUEUE_BODY_BYTES = 2 * 1024 * 1024;

const quoteRoute = defineRoute({
  method: 'POST',
  path: '/audio/quote',
  access: 'quote',
  body: {
    json: { schema: audioQuoteBody, maxBytes: SMALL_JSON_BYTES },
    needsModel: true,
    modelType: 'music',
  },
  describes: AUDIO_DESCRIPTIONS.quote,
  async handler({ core: { config } }, { body }) {
    const { model, headers } = requireAudioModel(config, body.model);
    const { pricing, prompt_character_limit: most } = model.spec;
    const characters = body.character_count;
    if (pricing.per_thousand_characters && characters === undefined) {
      throw invalid('character_count', 'This model is priced by the character: character_count is required');
    }
    if (characters !== undefined && most !== undefined && characters > most) {
      throw invalid('character_count', `Must be at most ${most} for this model`);
    }
    const duration = durationOf(model.spec, body.duration_seconds);
    if (!duration.ok) throw invalidOffer(duration);
    const terms = priceAudio(model, { characters: characters ?? 0, ...duration.member });
    if (!terms) throw invalid('duration_seconds', 'This model has no price for this length');
    return json({ quote: nanoToNumber(terms.price.usd) }, { headers });
  },
});

const queueRoute = defineRoute({
  method: 'POST',
  path: '/audio/queue',
  access: 'buyer',
  body: {
    json: { schema: audioQueueBody, maxBytes: QUEUE_BODY_BYTES },
    needsModel: true,
    modelType: 'music',
  },
  isReplay: isOrderReplay,
  sells: ({ kind: sold }) => sold === 'music',
  deadlineMs: QUEUE_DEADLINE_MS,
  describes: AUDIO_DESCRIPTIONS.queue,
  async handler(dependencies: Dependencies, request) {
    await failpoint('request-parsed');
    const { body, caller } = request;
    const { model, headers } = requireAudioModel(dependencies.core.config, body.model);
    requireCallable(dependencies.core.config, model, caller);
    const offer = offerAudio(model, body);
    if (!offer.ok) throw invalidOffer(offer);
    const { order, usage, terms } = offer;
    const webhook = readWebhook(dependencies.core.config, body);
    if (isDryRun(request)) return withHeaders(dryRun(terms.price), headers);
    const sealed: SealedOrder = { order, media: [] };
    const placed: JobOrder = {
      route: 'audio/queue',
      body,
      parts: sealedParts(dependencies, { sealed: sealOrder(sealed), isMeasured: false, media: [] }),
      inputOf: (queueId) => ({ ...jobOf(dependencies, request, { model, queueId }), kind, usage }),
      answer: queued,
    };
    const answer = await placeOrder(dependencies, request, withWebhook(dependencies, placed, webhook));
    return withHeaders(answer, headers);
  },
});

function queued({ queueId, modelId, replayed }: QueuedJob): Answer {
  return json(
    { model: modelId, queue_id: queueId, status: 'QUEUED' },
    replayed ? { headers: { 'Idempotent-Replayed': 'true' } } : undefined,
  );
}

export const AUDIO_ROUTES: readonly Route[] = [
  quoteRoute,
  queueRoute,
  defineRetrieveRoute({ kind, path: '/audio/retrieve', describes: AUDIO_DESCRIPTIONS.retrieve }),
  defineCompleteRoute({ kind, path: '/audio/complete', describes: AUDIO_DESCRIPTIONS.complete }),
];
