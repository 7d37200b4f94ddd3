/** POST /video/quote: price of an order, by the function that charges it. */

import { FareboxError } from '../../domain/errors.ts';
import { frameOf } from '../../domain/generation/offerVideo.ts';
import { type MeasuredVideo, priceVideo } from '../../domain/generation/priceVideo.ts';
import { orderUpscale } from '../../domain/generation/upscaleRules.ts';
import { needsOf, type VideoNeeds } from '../../domain/generation/videoNeeds.ts';
import { nanoToNumber } from '../../domain/money.ts';
import { MIN_PRICE } from '../../domain/smallestPrices.ts';
import { json } from '../http/answer.ts';
import { invalid, invalidOffer } from '../http/invalid.ts';
import { defineRoute } from '../http/route.ts';
import { requireVideoModel } from '../models.ts';
import { measureSourceVideo } from './measureSourceVideo.ts';
import { VIDEO_DESCRIPTIONS } from './openapi.ts';
import { type VideoQuoteBody, videoQuoteBody } from './schema.ts';

/** A source video as a data URL is at most 25 MB. */
const BODY_BYTES = 35 * 1024 * 1024;
/** Includes fetching and decoding the source. */
const DEADLINE_MS = 75_000;

/** One list for all calls: the funds gate remembers lists by identity. */
const MIN_PRICES = [MIN_PRICE];

export const quoteRoute = defineRoute({
  method: 'POST',
  path: '/video/quote',
  access: 'quote',
  body: { json: { schema: videoQuoteBody, maxBytes: BODY_BYTES }, needsModel: true, modelType: 'video' },
  deadlineMs: DEADLINE_MS,
  describes: VIDEO_DESCRIPTIONS.quote,
  async handler(dependencies, request) {
    const { body, caller } = request;
    const { model, headers } = requireVideoModel(dependencies.core.config, body.model);
    if (!model.price) throw new FareboxError({ code: 'model_offline', message: 'This model has no price' });
    const needs = needsOf(model);
    checkReferences(needs, body);
    const framing = frameOf(needs, frameFields(needs, body));
    if (!framing.ok) throw invalidOffer(framing);
    const upscale = orderUpscale(needs, needs.upscales ? body : {});
    if (!upscale.ok) throw invalidOffer(upscale);
    let source: MeasuredVideo | undefined;
    if (needs.bySource) {
      if (body.video_url === undefined) throw invalid('video_url', 'Required for this model');
      if (!caller) throw new FareboxError({ code: 'forbidden', message: 'This quote needs an API key' });
      const lack = await dependencies.accounts.fundsGate.refusalOf(caller, MIN_PRICES);
      if (lack) throw lack;
      source = await measureSourceVideo(dependencies, body.video_url, request);
    }
    const { frame } = framing;
    const usage = {
      ...(frame.resolution === undefined ? {} : { resolution: frame.resolution }),
      ...(frame.pricedSeconds === undefined ? {} : { durationSeconds: frame.pricedSeconds }),
      ...(frame.audio === false ? { silent: true } : {}),
      ...(upscale.member.upscale ? { upscale: upscale.member.upscale } : {}),
    };
    const terms = priceVideo(model, usage, source);
    if (!terms) throw invalid('resolution', 'This model has no price for this order');
    return json({ quote: nanoToNumber(terms.price.usd) }, { headers });
  },
});

/** Fields that the model does not have are ignored. */
function frameFields({ constraints, upscales }: VideoNeeds, body: VideoQuoteBody): VideoQuoteBody {
  const { aspect_ratio, resolution, audio, ...rest } = body;
  return {
    ...rest,
    ...(constraints.aspect_ratios.length > 0 ? { aspect_ratio } : {}),
    ...(constraints.resolutions.length > 0 && !upscales ? { resolution } : {}),
    ...(constraints.audio_configurable === true ? { audio } : {}),
  };
}

function checkReferences({ inputs }: VideoNeeds, body: VideoQuoteBody): void {
  const most = inputs.referenceVideoSeconds;
  const total = body.reference_video_total_duration;
  if (total !== undefined && most !== undefined && total > most) {
    throw invalid('reference_video_total_duration', `Must be at most ${most} for this model`);
  }
}
