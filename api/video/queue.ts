/**
 * POST /video/queue: accepts an order with its media, which are measured and charged. Errors that need no look at the
 * media are refused here; the rest by the workflow, before the charge.
 */

import { createHash } from 'node:crypto';
import type { VideoModel } from '../../domain/catalogue/model.ts';
import { fieldOf } from '../../domain/generation/media.ts';
import { offerVideo, type VideoOffer } from '../../domain/generation/offerVideo.ts';
import { type MeasuredVideo, priceVideo } from '../../domain/generation/priceVideo.ts';
import { type SealedMedium, sealOrder } from '../../domain/generation/sealedOrder.ts';
import type { NamedMedium } from '../../domain/generation/videoFields.ts';
import { failpoint } from '../../infra/failpoints.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, json, withHeaders } from '../http/answer.ts';
import { readDataUrl } from '../http/dataUrl.ts';
import { invalid, invalidOffer } from '../http/invalid.ts';
import { defineRoute, type RouteRequest } from '../http/route.ts';
import { hasDownloadUrl, requireCallable, requireVideoModel } from '../models.ts';
import { dryRun, isDryRun } from '../paid/dryRun.ts';
import {
  isOrderReplay,
  type JobOrder,
  jobOf,
  placeOrder,
  QUEUE_DEADLINE_MS,
  type QueuedJob,
} from '../queue/placeOrder.ts';
import { type RequestMedium, sealedParts } from '../queue/sealedParts.ts';
import { readWebhook, withWebhook } from '../queue/webhook.ts';
import { consentTo } from './consent.ts';
import { downloadUrl } from './downloadToken.ts';
import { measureSourceVideo } from './measureSourceVideo.ts';
import { VIDEO_DESCRIPTIONS } from './openapi.ts';
import { type VideoQueueBody, videoQueueBody } from './schema.ts';

/** Media in the request; larger ones come by URL. */
const BODY_BYTES = 35 * 1024 * 1024;

type VideoQueueRequest = RouteRequest<VideoQueueBody, undefined, 'buyer'>;

export const queueRoute = defineRoute({
  method: 'POST',
  path: '/video/queue',
  access: 'buyer',
  body: { json: { schema: videoQueueBody, maxBytes: BODY_BYTES }, needsModel: true, modelType: 'video' },
  isReplay: isOrderReplay,
  deadlineMs: QUEUE_DEADLINE_MS,
  describes: VIDEO_DESCRIPTIONS.queue,
  async handler(dependencies, request: VideoQueueRequest): Promise<Answer> {
    await failpoint('request-parsed');
    const { body, caller } = request;
    const { config } = dependencies.core;
    const { model, headers } = requireVideoModel(config, body.model);
    requireCallable(config, model, caller);
    const offer = offerVideo(model, body);
    if (!offer.ok) throw invalidOffer(offer);
    const consent = consentTo(offer.needs, body, config);
    if (consent.needed && !consent.given) return withHeaders(consent.answer, headers);
    if (!offer.needs.bySource && !priceVideo(model, offer.usage)) {
      throw invalid('resolution', 'This model has no price for this order');
    }
    const webhook = readWebhook(config, body);
    if (isDryRun(request)) {
      return withHeaders(await dryRunOf(dependencies, request, { model, offer }), headers);
    }
    const { sealed, handedIn } = takeMedia(offer.media);
    const order: JobOrder = {
      route: 'video/queue',
      body: { model: body.model, order: offer.order, media: sealed },
      parts: sealedParts(dependencies, {
        sealed: sealOrder({ order: offer.order, media: sealed }),
        isMeasured: sealed.length > 0,
        media: handedIn,
      }),
      inputOf: (queueId) => ({
        ...jobOf(dependencies, request, { model, queueId }),
        kind: 'video',
        usage: offer.usage,
        mediaCount: sealed.length,
        ...(consent.needed ? { consentVersion: consent.version } : {}),
      }),
      answer: (job) => queued(dependencies, job),
    };
    const answer = await placeOrder(dependencies, request, withWebhook(dependencies, order, webhook));
    return withHeaders(answer, headers);
  },
});

interface OfferedVideo {
  model: VideoModel;
  offer: Extract<VideoOffer, { ok: true }>;
}

async function dryRunOf(
  dependencies: Dependencies,
  request: VideoQueueRequest,
  { model, offer }: OfferedVideo,
): Promise<Answer> {
  const { body } = request;
  let source: MeasuredVideo | undefined;
  if (offer.needs.bySource && body.video_url !== undefined) {
    request.requireFunds();
    source = await measureSourceVideo(dependencies, body.video_url, request);
  }
  const terms = priceVideo(model, offer.usage, source);
  if (!terms) throw invalid('resolution', 'This model has no price for this order');
  return dryRun(terms.price);
}

/** Models with a `download_url` have the address from the beginning. */
async function queued({ core }: Dependencies, { queueId, modelId, replayed }: QueuedJob): Promise<Answer> {
  const model = core.config.modelCatalogue.byId.get(modelId);
  const link = model && hasDownloadUrl(model) ? { download_url: await downloadUrl(core, queueId) } : {};
  return json(
    { model: modelId, queue_id: queueId, ...link },
    replayed ? { headers: { 'Idempotent-Replayed': 'true' } } : undefined,
  );
}

interface OrderedMedia {
  sealed: SealedMedium[];
  handedIn: RequestMedium[];
}

/**
 * Media of a video order: a data URL is taken apart here, any other URL is named to the workers.
 * Throws FareboxError `invalid_request` for a data URL that is none.
 */
function takeMedia(media: readonly NamedMedium[]): OrderedMedia {
  const handedIn: RequestMedium[] = [];
  const sealed = media.map(({ url, ...place }, index): SealedMedium => {
    const inline = readDataUrl(url);
    if (inline === undefined) return { ...place, url };
    if (inline === 'malformed') throw invalid(fieldOf(place), 'A data URL must be base64');
    const { bytes } = inline;
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    handedIn.push({ index, bytes, sha256 });
    return { ...place, sizeBytes: bytes.length, sha256 };
  });
  return { sealed, handedIn };
}
