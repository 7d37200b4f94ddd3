/**
 * POST /audio/voice-changer/queue: accepts a recording, which is measured and charged, and answers with the job. Errors
 * that need no look at the bytes are refused here; the rest by the workflow, before the charge.
 */
import { chooseVoice } from '../../domain/catalogue/chooseVoice.ts';
import type { VoiceChangerModel } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import { billableSeconds, quoteVoiceChanger } from '../../domain/pricing.ts';
import { failpoint } from '../../infra/failpoints.ts';
import { sealedOrderKey, sourceKey } from '../../infra/s3/objectKeys.ts';
import type { JobSource } from '../../workflows/contract.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, json, withHeaders } from '../http/answer.ts';
import { invalid } from '../http/invalid.ts';
import { defineRoute, type RouteRequest, type UploadedFile } from '../http/route.ts';
import { requireCallable, requireVoiceChanger } from '../models.ts';
import { dryRun, isDryRun } from '../paid/dryRun.ts';
import { countUnpaidReading, readWithinBudget } from '../paid/readings.ts';
import { SMALL_JSON_BYTES } from '../queue/jobBodies.ts';
import { defineCompleteRoute, defineRetrieveRoute } from '../queue/jobRoutes.ts';
import {
  isOrderReplay,
  type JobOrder,
  jobOf,
  type OrderParts,
  placeOrder,
  QUEUE_DEADLINE_MS,
  type QueuedJob,
} from '../queue/placeOrder.ts';
import { readWebhook, withWebhook } from '../queue/webhook.ts';
import { measureSourceAudio } from './measureSourceAudio.ts';
import { VOICE_CHANGER_DESCRIPTIONS } from './openapi.ts';
import { type QueueBody, queueFields, queueJson } from './schema.ts';

const MAX_FILE_BYTES = 25 * 1024 * 1024;
const TOGETHER_BYTES = 1024 * 1024;

type VoiceQueueRequest = RouteRequest<QueueBody, undefined, 'buyer'>;

export const queueRoute = defineRoute({
  method: 'POST',
  path: '/audio/voice-changer/queue',
  access: 'buyer',
  body: {
    json: { schema: queueJson, maxBytes: SMALL_JSON_BYTES },
    multipart: { fields: queueFields, maxFileBytes: MAX_FILE_BYTES },
    needsModel: true,
    modelType: 'music',
  },
  isReplay: isOrderReplay,
  pricesMedia: true,
  sells: ({ kind }) => kind === 'voice-changer',
  deadlineMs: QUEUE_DEADLINE_MS,
  describes: VOICE_CHANGER_DESCRIPTIONS.queue,
  async handler(dependencies, request: VoiceQueueRequest): Promise<Answer> {
    await failpoint('request-parsed');
    const { model, voice, headers } = checkOrder(dependencies, request);
    const { body, file } = request;
    const webhook = readWebhook(dependencies.core.config, body);
    if (isDryRun(request)) return withHeaders(await dryRunOf(dependencies, request, model), headers);
    const order: JobOrder = {
      route: 'audio/voice-changer/queue',
      body: { ...body, file: file?.sha256 ?? null },
      parts: partsOf(dependencies, request),
      inputOf: (queueId) => ({
        ...jobOf(dependencies, request, { model, queueId }),
        kind: 'voice-changer',
        source: sourceOf(file),
        voice,
        removeBackgroundNoise: body.remove_background_noise ?? false,
        ...(body.seed === undefined ? {} : { seed: body.seed }),
      }),
      answer: queued,
    };
    const answer = await placeOrder(dependencies, request, withWebhook(dependencies, order, webhook));
    return withHeaders(answer, headers);
  },
});

/** The frame has checked the shape; this checks model, source (exactly one), voice and options, in this order. */
function checkOrder({ core: { config } }: Dependencies, { body, file, caller }: VoiceQueueRequest) {
  const { model, headers } = requireVoiceChanger(config, body.model);
  requireCallable(config, model, caller);
  if ((file === undefined) === (body.audio_url === undefined)) {
    throw invalid('audio_url', 'Provide exactly one of file or audio_url');
  }
  if (body.audio_url !== undefined && !/^https?:\/\//i.test(body.audio_url)) {
    throw invalid('audio_url', 'Must be an http or https URL');
  }
  const choice = chooseVoice(model, body.voice);
  if (!choice.ok) throw invalid('voice', choice.message);
  if (body.remove_background_noise && !model.supportsBackgroundNoiseRemoval) {
    throw invalid('remove_background_noise', 'This model does not support it');
  }
  if (body.seed !== undefined && !model.supportsSeed) throw invalid('seed', 'This model does not support it');
  return { model, voice: choice.voice, headers };
}

async function dryRunOf(
  dependencies: Dependencies,
  request: VoiceQueueRequest,
  model: VoiceChangerModel,
): Promise<Answer> {
  request.requireFunds();
  const { body, caller, file, signal, share } = request;
  const source = { model, file, url: body.audio_url, maxBytes: MAX_FILE_BYTES, share };
  const price = await readWithinBudget(dependencies, caller.accountId, async () => {
    const { decodedSeconds, lossy } = await measureSourceAudio(dependencies, source, signal);
    const found = quoteVoiceChanger(model, billableSeconds(decodedSeconds, lossy));
    if (found) return found;
    throw new FareboxError({ code: 'media_too_long', message: TOO_LONG });
  });
  await countUnpaidReading(dependencies, caller.accountId);
  return dryRun(price);
}

const TOO_LONG = 'The recording is longer than this model takes.';

function sourceOf(file: UploadedFile | undefined): JobSource {
  return file ? { from: 'upload', sizeBytes: file.sizeBytes, sha256: file.sha256 } : { from: 'url' };
}

/** Bytes go through storage; a URL is encrypted there, so that no history has it. */
function partsOf({ jobs: { storage } }: Dependencies, { file, body }: VoiceQueueRequest): OrderParts {
  return {
    together: file === undefined || file.sizeBytes <= TOGETHER_BYTES,
    async put(queueId) {
      if (file) {
        const { content, sizeBytes, sha256 } = file;
        const about = { sizeBytes, sha256, contentType: 'application/octet-stream' };
        if ('bytes' in content) await storage.putBytes(sourceKey(queueId), content.bytes, about);
        else await storage.putFile(sourceKey(queueId), content.path, about);
      } else {
        const order = Buffer.from(JSON.stringify({ url: body.audio_url }));
        await storage.putBytes(sealedOrderKey(queueId), order, { contentType: 'application/json' });
      }
      await failpoint('source-stored');
    },
    async remove(queueId) {
      await Promise.all([storage.remove(sourceKey(queueId)), storage.remove(sealedOrderKey(queueId))]);
    },
  };
}

function queued({ queueId, modelId, durationSeconds, replayed }: QueuedJob): Answer {
  return json(
    { model: modelId, queue_id: queueId, status: 'QUEUED', duration_seconds: durationSeconds },
    replayed ? { headers: { 'Idempotent-Replayed': 'true' } } : undefined,
  );
}

/** Kind of the jobs of POST /audio/voice-changer/retrieve and /complete. */
const kind = 'voice-changer';

export const retrieveVoiceChangeRoute = defineRetrieveRoute({
  kind,
  path: '/audio/voice-changer/retrieve',
  describes: VOICE_CHANGER_DESCRIPTIONS.retrieve,
});

export const completeVoiceChangeRoute = defineCompleteRoute({
  kind,
  path: '/audio/voice-changer/complete',
  describes: VOICE_CHANGER_DESCRIPTIONS.complete,
});
