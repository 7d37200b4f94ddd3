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
import { type GuardedFetch, isRefusedTarget } from '../../infra/http/guardedFetch.ts';
import { createProviderHttp, ProviderHttpError, type ProviderReply } from '../../infra/http/providerHttp.ts';
import { BodyTooLarge } from '../../infra/http/saveBody.ts';
import { checkAudioFile } from '../shared/audioFile.ts';
import { fetchOutput } from '../shared/fetchOutput.ts';
import { withHeartbeat } from '../shared/heartbeat.ts';
import type {
  AudioRequest,
  CallContext,
  GenerationProvider,
  OperationHandle,
  Outcome,
  VideoRequest,
} from '../shared/provider.ts';
import { unserved } from '../shared/unserved.ts';
import { checkVideoFile } from '../shared/videoFile.ts';
import { outcomeOfError, parseJson } from './errorReply.ts';
import { toInput, type UploadedMedium } from './input.ts';
import { readOutputUrl, readStatus, readSubmitted } from './replies.ts';
import {
  ENDPOINT,
  type FalOptions,
  type FalService,
  ORDER_HEADERS,
  openService,
  orderPath,
} from './service.ts';
import { upload } from './upload.ts';
import { createWebhookCheck } from './webhook.ts';

const MAX_KEYS_BYTES = 64 * 1024;

/** The largest and slowest output that is fetched. */
const OUTPUT_LIMITS = {
  audio: { maxBytes: 200 * 1024 * 1024, timeoutMs: 5 * 60_000 },
  video: { maxBytes: 2 * 1024 * 1024 * 1024, timeoutMs: 10 * 60_000 },
} as const;

const handle = z.object({
  endpoint: z.string().regex(ENDPOINT),
  requestId: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/),
  kind: z.enum(['audio', 'video']),
});
type Handle = z.infer<typeof handle>;

export function createFal(options: FalOptions, guardedFetch: GuardedFetch): GenerationProvider {
  const service = openService(options, guardedFetch);
  const keys = { ...service.rest, maxReplyBytes: MAX_KEYS_BYTES };
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
  service: FalService,
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
  service: FalService,
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
  service: FalService,
  request: AudioRequest | VideoRequest,
  { context, media }: Submission,
): Promise<Outcome> {
  const { kind, upstreamModel: endpoint } = request;
  try {
    const reply = await service.queue.request({
      method: 'POST',
      path: `/${endpoint}`,
      ...(context.callbackUrl !== undefined && { query: { fal_webhook: context.callbackUrl } }),
      headers: ORDER_HEADERS,
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

async function check(
  service: FalService,
  operation: OperationHandle,
  context: CallContext,
): Promise<Outcome> {
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
async function statusOf(service: FalService, order: Handle, signal: AbortSignal): Promise<ProviderReply> {
  const ask = (logs: '0' | '1') =>
    service.queue.request({ method: 'GET', path: `${orderPath(order)}/status`, query: { logs }, signal });
  try {
    return await ask('1');
  } catch (error) {
    const tooLong = error instanceof ProviderHttpError && error.cause instanceof BodyTooLarge;
    if (!tooLong) throw error;
    return await ask('0');
  }
}

async function result(service: FalService, order: Handle, context: CallContext): Promise<Outcome> {
  const { signal } = context;
  const reply = await service.queue.request({ method: 'GET', path: orderPath(order), signal });
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

/** Only what had not begun is removed for certain (`OK`); what runs is asked to stop, and may go on. */
async function cancel(
  service: FalService,
  operation: OperationHandle,
  { signal }: CallContext,
): Promise<boolean> {
  const order = handle.safeParse(operation).data;
  if (order === undefined) return false;
  try {
    const reply = await service.queue.request({ method: 'PUT', path: `${orderPath(order)}/cancel`, signal });
    return REMOVED.safeParse(parseJson(reply.body)).success;
  } catch (error) {
    if (!(error instanceof ProviderHttpError)) throw error;
    return false;
  }
}

const REMOVED = z.object({ status: z.literal('OK') });

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
