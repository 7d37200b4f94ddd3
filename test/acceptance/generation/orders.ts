/** Client steps of a music or video order. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient, Call, Reply } from '../client.ts';
import { eventually } from '../deployment.ts';
import { isProcessing, type Job, queueIdOf } from '../orders.ts';

export type Kind = 'audio' | 'video';

export interface Order {
  kind: Kind;
  /** Request body with the model. */
  body: object;
}

/** A job with its route. */
export interface Ordered extends Job {
  kind: Kind;
}

export function quoteOf(api: ApiClient, { kind, body }: Order): Promise<Reply> {
  return api.post(`/${kind}/quote`, { json: body });
}

export function queue(api: ApiClient, { kind, body }: Order, call?: Call): Promise<Reply> {
  return api.post(`/${kind}/queue`, { ...call, json: body });
}

export async function ordered(api: ApiClient, order: Order): Promise<Ordered> {
  const reply = await queue(api, order);
  const { model } = order.body as { model: string };
  return { kind: order.kind, model, queueId: queueIdOf(reply) };
}

export function retrieve(
  api: ApiClient,
  { kind, model, queueId }: Ordered,
  { deleteAfter, range }: { deleteAfter?: boolean; range?: string } = {},
): Promise<Reply> {
  return api.post(`/${kind}/retrieve`, {
    json: { model, queue_id: queueId, ...(deleteAfter && { delete_media_on_completion: true }) },
    headers: range === undefined ? {} : { range },
  });
}

export function complete(api: ApiClient, { kind, model, queueId }: Ordered): Promise<Reply> {
  return api.post(`/${kind}/complete`, { json: { model, queue_id: queueId } });
}

/** First answer of retrieve other than PROCESSING. */
export function outcomeOf(api: ApiClient, job: Ordered, timeoutMs?: number): Promise<Reply> {
  return eventually(async () => {
    const reply = await retrieve(api, job);
    if (!isProcessing(reply)) return reply;
    await sleep(60);
    return undefined;
  }, timeoutMs);
}

/** Requests a `download_url` without a credential. */
export async function download(url: string, init: RequestInit = {}): Promise<Reply> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(20_000) });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return {
    ...{ status: response.status, headers: response.headers, bytes },
    body: isJson ? (JSON.parse(bytes.toString('utf8')) as Record<string, unknown>) : {},
  };
}
