/**
 * fal's queue: an order is handed in, asked about until it is complete, and its output fetched from the address that the
 * result names. Source: its documentation of the queue (OpenAPI description included), of webhooks, of data retention and
 * of errors, and its own client (fal-ai/fal-js, libs/client/src/{queue,storage}.ts).
 *
 * The service takes neither a reference nor an idempotency key of ours and lists requests by its own ids and times only, so
 * there is no `find`: an order whose reply was lost stays unknown, and the job is refunded.
 */
import { join } from 'node:path';
import { z } from 'zod';
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import { type GuardedFetch, isRefusedTarget } from '../../infra/http/guardedFetch.ts';
import {
  createProviderHttp,
  type ProviderHttp,
  ProviderHttpError,
  type ProviderReply,
} from '../../infra/http/providerHttp.ts';
import { BodyTooLarge } from '../../infra/http/saveBody.ts';
import { checkAudioFile } from '../audioFile.ts';
import { fetchOutput } from '../fetchOutput.ts';
import { withHeartbeat } from '../heartbeat.ts';
import type {
  AudioRequest,
  CallContext,
  GenerationProvider,
  OperationHandle,
  Outcome,
  VideoRequest,
} from '../provider.ts';
import { unserved } from '../unserved.ts';
import { checkVideoFile } from '../videoFile.ts';
import { outcomeOfError } from './errorReply.ts';
import { toInput, type UploadedMedium } from './input.ts';
import { readOutputUrl, readStatus, readSubmitted } from './replies.ts';
import { type Storage, upload } from './upload.ts';
import { createWebhookCheck } from './webhook.ts';

export interface FalOptions {
  /** "key-id:key-secret". */
  apiKey: string;
  /** Stands for all of the service's hosts; default: the published ones. */
  baseUrl?: string | undefined;
  allowPrivateNetwork?: boolean | undefined;
  timeouts?: Partial<ProviderTimeouts> | undefined;
}

const QUEUE_URL = 'https://queue.fal.run';
/** Storage and published keys. */
const REST_URL = 'https://rest.fal.ai';
/** How long fal keeps media of an order: longer than any job waits. */
const KEPT_SECONDS = 24 * 3_600;
const MAX_KEYS_BYTES = 64 * 1024;

/** The largest and slowest output that is fetched. */
const OUTPUT_LIMITS = {
  audio: { maxBytes: 200 * 1024 * 1024, timeoutMs: 5 * 60_000 },
  video: { maxBytes: 2 * 1024 * 1024 * 1024, timeoutMs: 10 * 60_000 },
} as const;

/** An endpoint id: owner, app and mostly a path; two names may stand before the owner. */
const ENDPOINT = /^(?:(?:workflows|comfy)\/)?[A-Za-z0-9_-][\w.-]*(?:\/[A-Za-z0-9_-][\w.-]*)+$/;

const handle = z.object({
  endpoint: z.string().regex(ENDPOINT),
  requestId: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/),
  kind: z.enum(['audio', 'video']),
});
type Handle = z.infer<typeof handle>;

interface Service {
  queue: ProviderHttp;
  queueUrl: string;
  storage: Storage;
  guardedFetch: GuardedFetch;
}

export function createFal(options: FalOptions, guardedFetch: GuardedFetch): GenerationProvider {
  const { allowPrivateNetwork, timeouts } = options;
  const queueUrl = options.baseUrl ?? QUEUE_URL;
  const restUrl = options.baseUrl ?? REST_URL;
  const headers = { authorization: `Key ${options.apiKey}` };
  const rest = createProviderHttp({ baseUrl: restUrl, allowPrivateNetwork, timeouts, headers });
  const service: Service = {
    queue: createProviderHttp({ baseUrl: queueUrl, allowPrivateNetwork, timeouts, headers }),
    queueUrl,
    storage: { rest, restUrl, allowPrivateNetwork, timeouts, keptSeconds: KEPT_SECONDS },
    guardedFetch,
  };
  const keys = { baseUrl: restUrl, allowPrivateNetwork, timeouts, maxReplyBytes: MAX_KEYS_BYTES };
  return {
    repeatable: false,
    async start(request, context) {
      if (request.kind === 'voice-changer') return unserved(request);
      return await withHeartbeat(context, () => start(service, request, context));
    },
    check: (operation, context) => withHeartbeat(context, () => check(service, operation, context)),
    cancel: (operation, context) => cancel(service, operation, context),
    isGenuine: createWebhookCheck(createProviderHttp(keys)),
  };
}

async function start(
  service: Service,
  request: AudioRequest | VideoRequest,
  context: CallContext,
): Promise<Outcome> {
  if (!ENDPOINT.test(request.upstreamModel)) {
    const message = 'The model is not available at the moment.';
    return {
      status: 'refused',
      reason: 'credential',
      message,
      detail: 'upstreamModel is no endpoint of fal',
    };
  }
  const media = await uploadAll(service, request, context);
  return 'status' in media ? media : await submit(service, request, { context, media: media.uploaded });
}

/** Before anything is ordered: what fails here may be done again. */
async function uploadAll(
  service: Service,
  request: AudioRequest | VideoRequest,
  { signal }: CallContext,
): Promise<{ uploaded: UploadedMedium[] } | Outcome> {
  const uploaded: UploadedMedium[] = [];
  try {
    for (const medium of request.kind === 'video' ? request.media : []) {
      const answer = await upload(service.storage, medium, signal);
      if (!answer.ok) return answer.outcome;
      uploaded.push({ ...medium, url: answer.url });
    }
    return { uploaded };
  } catch (error) {
    if (!(error instanceof ProviderHttpError)) throw error;
    const detail = `storage: ${error.message}`;
    return isRefusedTarget(error) ? failed(detail) : { status: 'busy', reason: 'overloaded', detail };
  }
}

interface Submission {
  context: CallContext;
  media: readonly UploadedMedium[];
}

async function submit(
  service: Service,
  request: AudioRequest | VideoRequest,
  { context, media }: Submission,
): Promise<Outcome> {
  const { kind, upstreamModel: endpoint } = request;
  try {
    const reply = await service.queue.request({
      method: 'POST',
      path: `/${endpoint}`,
      ...(context.callbackUrl !== undefined && { query: { fal_webhook: context.callbackUrl } }),
      headers: {
        'x-fal-queue-priority': 'normal',
        'x-fal-object-lifecycle-preference': JSON.stringify({ expiration_duration_seconds: KEPT_SECONDS }),
        // No prompt of a client stays in the history of our account there.
        'x-fal-store-io': '0',
      },
      json: toInput(request, media),
      signal: context.signal,
    });
    if (reply.status < 200 || reply.status > 299) return outcomeOfError(reply, 'submit');
    const requestId = readSubmitted(reply);
    // Taken, as its status says, and not to be asked for without the id.
    if (requestId === undefined) return { status: 'unknown', detail: `HTTP ${reply.status} without an id` };
    return { status: 'running', operation: { endpoint, requestId, kind } };
  } catch (error) {
    if (!(error instanceof ProviderHttpError)) throw error;
    if (error.sent === 'not_sent') return { status: 'busy', reason: 'overloaded', detail: error.message };
    return { status: 'unknown', detail: error.message };
  }
}

async function check(service: Service, operation: OperationHandle, context: CallContext): Promise<Outcome> {
  const order = handle.safeParse(operation).data;
  if (order === undefined) return failed('the handle is not one of ours');
  try {
    const reply = await statusOf(service, order, context.signal);
    if (reply.status !== 200 && reply.status !== 202) return outcomeOfError(reply, 'status');
    const status = readStatus(reply);
    if (status === undefined) return { status: 'unknown', detail: 'the status is unreadable' };
    if (status.requestId !== undefined && status.requestId !== order.requestId) {
      return { status: 'unknown', detail: 'the status is of another order' };
    }
    if (status.completed) return await result(service, order, context);
    const { percent } = status;
    return { status: 'running', operation, ...(percent !== undefined && { percent }) };
  } catch (error) {
    if (error instanceof ProviderHttpError) return { status: 'unknown', detail: error.message };
    throw error;
  }
}

/** The logs tell how far it is, and some models print without end. */
async function statusOf(service: Service, order: Handle, signal: AbortSignal): Promise<ProviderReply> {
  const ask = (logs: '0' | '1') =>
    service.queue.request({ method: 'GET', path: `${pathOf(order)}/status`, query: { logs }, signal });
  try {
    return await ask('1');
  } catch (error) {
    const tooLong = error instanceof ProviderHttpError && error.cause instanceof BodyTooLarge;
    if (!tooLong) throw error;
    return await ask('0');
  }
}

async function result(service: Service, order: Handle, context: CallContext): Promise<Outcome> {
  const { signal } = context;
  const reply = await service.queue.request({ method: 'GET', path: pathOf(order), signal });
  if (reply.status !== 200) return outcomeOfError(reply, 'result');
  const url = readOutputUrl(reply, order.kind);
  if (url === undefined) return failed(`the result names no ${order.kind}`);
  const path = join(context.workFolder, 'fal-output');
  const source = { http: service.queue, baseUrl: service.queueUrl, guardedFetch: service.guardedFetch };
  const target = { path, ...OUTPUT_LIMITS[order.kind] };
  const fetched = await fetchOutput(source, url, { target, context });
  if (!fetched.ok) return fetched.outcome;
  const found = order.kind === 'audio' ? await checkAudioFile(path) : await checkVideoFile(path);
  if (!found.ok) return failed(`${found.detail}, declared as ${printable(fetched.contentType)}`);
  const providerReference = `fal request ${order.requestId}`;
  return { status: 'done', output: { path, contentType: found.contentType, providerReference } };
}

/** Best effort: whatever the service answers, nobody waits for it. */
async function cancel(service: Service, operation: OperationHandle, { signal }: CallContext): Promise<void> {
  const order = handle.safeParse(operation).data;
  if (order === undefined) return;
  try {
    await service.queue.request({ method: 'PUT', path: `${pathOf(order)}/cancel`, signal });
  } catch (error) {
    if (!(error instanceof ProviderHttpError)) throw error;
  }
}

/**
 * Written here and not taken from the answer, which could name another host: orders are asked for by owner and app,
 * without the rest of the endpoint.
 */
function pathOf({ endpoint, requestId }: Handle): string {
  const segments = endpoint.split('/');
  const app = segments.slice(0, /^(workflows|comfy)$/.test(segments[0] ?? '') ? 3 : 2);
  return `/${app.join('/')}/requests/${requestId}`;
}

function failed(detail: string): Outcome {
  return {
    status: 'refused',
    reason: 'failed',
    message: 'The media service delivered no usable output.',
    detail,
  };
}

function printable(text: string): string {
  return /^[\w.+/-]{1,80}$/.test(text) ? text : 'something else';
}
