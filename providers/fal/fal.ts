/**
 * Jobs in fal's queue: submit an order, poll until it is complete, download the output that the result names. Sources:
 * those of queue.ts, and fal's documentation of webhooks. The service takes no reference or idempotency key and lists
 * requests by its own ids and times only, so there is no `find`. An order whose reply was lost stays unknown, and the
 * job is refunded.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { type GuardedFetch, isRefusedTarget } from '../../infra/http/guardedFetch.ts';
import { createServiceHttp } from '../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
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
import type { PublicMedium } from '../shared/publicOrder.ts';
import { createQueuedJobs, type QueueHandle } from '../shared/queuedJobs.ts';
import type { ServiceAccess } from '../shared/serviceAddresses.ts';
import { printableType } from '../shared/textFailures.ts';
import { checkVideoFile } from '../shared/videoFile.ts';
import { toInput } from './input.ts';
import { createFalQueue, type FalTicket } from './queue.ts';
import { readOutputUrl } from './replies.ts';
import { ENDPOINT, type FalService, openService } from './service.ts';
import { upload } from './upload.ts';
import { createWebhookCheck } from './webhook.ts';

const MAX_KEYS_BYTES = 64 * 1024;

/** Limits for downloading an output. */
const OUTPUT_LIMITS = {
  audio: { maxBytes: 200 * 1024 * 1024, timeoutMs: 5 * 60_000 },
  video: { maxBytes: 2 * 1024 * 1024 * 1024, timeoutMs: 10 * 60_000 },
} as const;

const handle = z.object({
  endpoint: z.string().regex(ENDPOINT),
  requestId: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/),
  kind: z.enum(['audio', 'video']),
});

export function createFal(options: ServiceAccess, guardedFetch: GuardedFetch): GenerationProvider {
  const service = openService(options, guardedFetch);
  const keys = { ...service.rest, maxReplyBytes: MAX_KEYS_BYTES };
  const jobs = createQueuedJobs({
    queue: createFalQueue(service, { readsLogs: true }),
    readHandle: (operation) => handle.safeParse(operation).data,
    deliver: (result, ticket, context) => deliver(service, { result, ticket }, context),
  });
  return {
    repeatable: false,
    async start(request, context) {
      if (request.kind === 'voice-changer') return unservedOutcome(request);
      const { kind, upstreamModel: endpoint } = request;
      if (!ENDPOINT.test(endpoint)) return NO_ENDPOINT;
      const media = await uploadAll(service, request, context);
      if ('status' in media) return media;
      const order = { endpoint, input: toInput(request, media.uploaded), callbackUrl: context.callbackUrl };
      return await jobs.submit(order, kind, context);
    },
    check: jobs.check,
    cancel: jobs.cancel,
    isGenuine: createWebhookCheck(createServiceHttp(keys)),
  };
}

const NO_ENDPOINT: Outcome = {
  status: 'refused',
  reason: 'credential',
  message: 'The model is not available at the moment.',
  detail: 'upstreamModel is no endpoint of fal',
};

/** Runs before the order, so failures may be retried. */
async function uploadAll(
  service: FalService,
  request: AudioRequest | VideoRequest,
  { signal }: CallContext,
): Promise<{ uploaded: PublicMedium[] } | FailedOutcome> {
  const uploaded: PublicMedium[] = [];
  try {
    for (const medium of request.kind === 'video' ? request.media : []) {
      const answer = await upload(service.storage, medium, signal);
      if (!answer.ok) return answer.outcome;
      uploaded.push({ ...medium, value: answer.url });
    }
    return { uploaded };
  } catch (error) {
    if (!(error instanceof ServiceHttpError)) throw error;
    const detail = `storage: ${error.message}`;
    return isRefusedTarget(error) ? failed(detail) : { status: 'busy', reason: 'overloaded', detail };
  }
}

interface FalDelivery {
  result: unknown;
  ticket: QueueHandle<FalTicket>;
}

async function deliver(
  { outputs }: FalService,
  { result, ticket: { requestId, kind } }: FalDelivery,
  context: CallContext,
): Promise<Outcome> {
  const url = readOutputUrl(result, kind);
  if (url === undefined) return failed(`the result names no ${kind}`);
  const path = join(context.workFolder, 'fal-output');
  const target = { path, ...OUTPUT_LIMITS[kind] };
  const fetched = await fetchOutput(outputs, url, { target, context });
  if (!fetched.ok) return fetched.outcome;
  const found = kind === 'audio' ? await checkAudioFile(path) : await checkVideoFile(path);
  if (!found.ok) return failed(`${found.detail}, declared as ${printableType(fetched.contentType)}`);
  const providerReference = `fal request ${requestId}`;
  return { status: 'done', output: { path, contentType: found.contentType, providerReference } };
}

function failed(detail: string): FailedOutcome {
  return {
    status: 'refused',
    reason: 'failed',
    message: 'The media service delivered no usable output.',
    detail,
  };
}
