/**
 * Jobs through Replicate's HTTP API. Source: the service's OpenAPI description (api.replicate.com/openapi.json) and its
 * pages on predictions, files and webhooks. There is no `find`: a prediction takes no reference or idempotency key, and
 * unknown members are refused. The list of predictions shows ids, times, statuses and the inputs of the last hour, so
 * two equal orders of one minute look alike. Absence from the list does not prove that an order was not accepted. A
 * guess could hand one client's output to another, so a lost reply stays unknown. `Cancel-After` bounds the cost of
 * such a prediction: the service ends it at the job's deadline at the latest.
 */
import { join } from 'node:path';
import { checkAudioFile } from '../shared/audioFile.ts';
import { unservedOutcome } from '../shared/failedReply.ts';
import { fetchOutput } from '../shared/fetchOutput.ts';
import type {
  AudioRequest,
  CallContext,
  FailedOutcome,
  GenerationProvider,
  Outcome,
  VideoRequest,
} from '../shared/provider.ts';
import { createQueuedJobs, type MediumKind, type QueueHandle } from '../shared/queuedJobs.ts';
import { checkVideoFile } from '../shared/videoFile.ts';
import { addressMedia, withAddresses } from './mediaInputs.ts';
import { modelInputs } from './modelInputs.ts';
import { failedOutcome, outputOf, type Prediction, type PredictionTicket } from './prediction.ts';
import { createReplicateQueue, type PredictionOrder } from './queue.ts';
import { openReplicate, orderAddress, type ReplicateAccess, type ReplicateService } from './service.ts';
import { createWebhookCheck } from './webhook.ts';

export interface ReplicateOptions extends ReplicateAccess {
  /** Time limit of a job and of its prediction. */
  deadlineMs: number;
}

const OUTPUT_LIMITS: Record<MediumKind, { maxBytes: number; timeoutMs: number }> = {
  audio: { maxBytes: 200_000_000, timeoutMs: 5 * 60_000 },
  video: { maxBytes: 2_000_000_000, timeoutMs: 20 * 60_000 },
};

export function createReplicate(options: ReplicateOptions): GenerationProvider {
  const service = openReplicate(options, options.deadlineMs);
  const jobs = createQueuedJobs({
    queue: createReplicateQueue(service),
    readHandle: ({ id, kind }) => ({ id: String(id), kind: kind === 'video' ? 'video' : 'audio' }),
    deliver: (found, handle, context) => deliver(service, { found, handle }, context),
  });
  return {
    repeatable: false,
    async start(request, context) {
      if (request.kind === 'voice-changer') return unservedOutcome(request);
      const order = await orderOf(service, request, context);
      return 'status' in order ? order : await jobs.submit(order, request.kind, context);
    },
    check: jobs.check,
    cancel: jobs.cancel,
    isGenuine: createWebhookCheck(service.api),
  };
}

async function orderOf(
  { api }: ReplicateService,
  request: AudioRequest | VideoRequest,
  context: CallContext,
): Promise<PredictionOrder | FailedOutcome> {
  const address = orderAddress(request.upstreamModel);
  if (address === undefined) return notServed(request.upstreamModel);
  const { model, ...place } = address;
  const inputs = modelInputs(model, request);
  if (!inputs.ok) return { status: 'refused', reason: 'refused', message: inputs.message };
  const media = await addressMedia(api, request.kind === 'video' ? request.media : [], context);
  if (!media.ok) return media.outcome;
  return { ...place, input: withAddresses(inputs.input, media.of), callbackUrl: context.callbackUrl };
}

function notServed(upstreamModel: string): FailedOutcome {
  const message = 'The model is not available at the moment.';
  const detail = `not of the form owner/name or owner/name:version: ${upstreamModel.slice(0, 200)}`;
  return { status: 'refused', reason: 'credential', message, detail };
}

interface ReplicateDelivery {
  found: Prediction;
  handle: QueueHandle<PredictionTicket>;
}

/** A failed download does not lose the order: it is polled again by its id. */
async function deliver(
  service: ReplicateService,
  { found, handle }: ReplicateDelivery,
  context: CallContext,
): Promise<Outcome> {
  const { id, kind } = handle;
  const output = outputOf(found, kind);
  if ('status' in output) return output;
  const path = join(context.workFolder, 'replicate.output');
  const target = { path, ...OUTPUT_LIMITS[kind] };
  const fetched = await fetchOutput(service.outputs, output.url, { target, context });
  if (!fetched.ok) {
    const isLost = fetched.outcome.status === 'unknown';
    return isLost ? { status: 'running', operation: handle } : fetched.outcome;
  }
  const check = await (kind === 'video' ? checkVideoFile(path) : checkAudioFile(path));
  if (!check.ok) return failedOutcome(`prediction ${id}: ${check.detail}`);
  const providerReference = `replicate prediction ${id}`;
  return { status: 'done', output: { path, contentType: check.contentType, providerReference } };
}
