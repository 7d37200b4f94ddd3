/**
 * A client as the contract wants it: an Idempotency-Key on the order, the same request again when the connection breaks
 * or the service has no answer now, then retrieve until there is one, then complete.
 */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

export interface JobClient {
  /** `http://…/api/v1`, asked anew for each request: another process may serve the next one. */
  baseUrl(): string;
  secret: string;
}

export interface JobOrder {
  model: string;
  source: Buffer;
  fields?: Record<string, string>;
  idempotencyKey?: string;
}

export interface Accepted {
  queueId: string;
  durationSeconds: number;
  replayed: boolean;
}

export type QueueEnd =
  | ({ ended: 'accepted' } & Accepted)
  | { ended: 'refused'; status: number; error: string };

export type JobEnd =
  | { ended: 'delivered'; bytes: Buffer }
  /** The job failed, and says whether it was refunded. */
  | { ended: 'failed'; status: number; error: string; refunded: boolean }
  /** The media is no longer there. */
  | { ended: 'gone' };

const PAUSE_MS = 200;
const REQUEST_LIMIT_MS = 80_000;
const JOB_LIMIT_MS = 120_000;

export interface Reply {
  status: number;
  headers: Headers;
  body: Buffer;
}

/** One request; throws when the connection broke before the last byte. */
export async function call(client: JobClient, path: string, init: RequestInit = {}): Promise<Reply> {
  const answer = await fetch(`${client.baseUrl()}${path}`, {
    ...init,
    headers: { Authorization: `Bearer ${client.secret}`, ...init.headers },
    signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
  });
  return {
    status: answer.status,
    headers: answer.headers,
    body: Buffer.from(await answer.arrayBuffer()),
  };
}

export function post(client: JobClient, path: string, body: unknown): Promise<Reply> {
  return call(client, path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
}

export function jsonOf(reply: Reply): Record<string, unknown> {
  return JSON.parse(reply.body.toString()) as Record<string, unknown>;
}

/** Repeats a request until `done` takes its reply; a broken connection and a reply that is not taken are asked again. */
export async function persist<T>(
  ask: () => Promise<Reply>,
  done: (reply: Reply) => T | undefined,
  limitMs = JOB_LIMIT_MS,
): Promise<T> {
  const deadline = Date.now() + limitMs;
  let last: unknown;
  while (Date.now() < deadline) {
    try {
      const reply = await ask();
      const taken = done(reply);
      if (taken !== undefined) return taken;
      last = `${reply.status} ${reply.body.toString('utf8', 0, 300)}`;
    } catch (error) {
      last = error;
    }
    await sleep(PAUSE_MS);
  }
  throw new Error(`no answer within ${limitMs} ms; the last one: ${describe(last)}`);
}

function describe(last: unknown): string {
  return last instanceof Error ? `${last.message} (${String(last.cause ?? 'no cause')})` : String(last);
}

/** One POST of an order. */
export function order(
  client: JobClient,
  { model, source, fields, idempotencyKey }: JobOrder,
): Promise<Reply> {
  const form = new FormData();
  form.set('model', model);
  for (const [name, value] of Object.entries(fields ?? {})) form.set(name, value);
  form.set('file', new Blob([new Uint8Array(source)], { type: 'audio/wav' }), 'source.wav');
  return call(client, '/audio/voice-changer/queue', {
    method: 'POST',
    headers: idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey },
    body: form,
  });
}

/** What a reply to an order means; undefined: ask again with the same key. */
export function readOrder(reply: Reply): QueueEnd | undefined {
  if (reply.status >= 500 || reply.status === 429) return undefined;
  const body = jsonOf(reply);
  if (reply.status !== 200) return { ended: 'refused', status: reply.status, error: String(body.error) };
  return {
    ended: 'accepted',
    queueId: String(body.queue_id),
    durationSeconds: Number(body.duration_seconds),
    replayed: reply.headers.get('idempotent-replayed') === 'true',
  };
}

export function queueJob(client: JobClient, wanted: JobOrder): Promise<QueueEnd> {
  const keyed = { ...wanted, idempotencyKey: wanted.idempotencyKey ?? randomUUID() };
  return persist(() => order(client, keyed), readOrder);
}

export interface Job {
  model: string;
  queueId: string;
}

export function retrieve(client: JobClient, job: Job, extra: Record<string, unknown> = {}): Promise<Reply> {
  const named = { model: job.model, queue_id: job.queueId };
  return post(client, '/audio/voice-changer/retrieve', { ...named, ...extra });
}

/** What a reply to retrieve means; undefined: not yet. Throws when the media is not what its headers say. */
export function readRetrieve(reply: Reply): JobEnd | undefined {
  const isJson = (reply.headers.get('content-type') ?? '').startsWith('application/json');
  if (reply.status === 200 && !isJson) {
    const sha256 = createHash('sha256').update(reply.body).digest('hex');
    if (reply.headers.get('etag') !== `"${sha256}"`) throw new Error('the media is not what was stored');
    return { ended: 'delivered', bytes: reply.body };
  }
  if (reply.status === 200) return undefined;
  const body = jsonOf(reply);
  if ('credits_refunded' in body) {
    const refunded = body.credits_refunded === true;
    return { ended: 'failed', status: reply.status, error: String(body.error), refunded };
  }
  return reply.status === 404 ? { ended: 'gone' } : undefined;
}

export function awaitJob(client: JobClient, job: Job, limitMs?: number): Promise<JobEnd> {
  return persist(() => retrieve(client, job), readRetrieve, limitMs);
}

/** Until the service says that the media is gone. */
export async function completeJob(client: JobClient, job: Job, limitMs?: number): Promise<void> {
  const body = { model: job.model, queue_id: job.queueId };
  await persist(
    () => post(client, '/audio/voice-changer/complete', body),
    (reply) => (reply.status === 200 && jsonOf(reply).success === true ? true : undefined),
    limitMs,
  );
}

/** Until the job has ended one way or the other. */
export async function cancelJob(client: JobClient, job: Job): Promise<void> {
  await persist(
    () => call(client, `/jobs/${job.queueId}/cancel`, { method: 'POST' }),
    (reply) => {
      if (reply.status === 200) return true;
      return reply.status === 409 && !/try again/.test(reply.body.toString()) ? true : undefined;
    },
  );
}

export interface TimelineEntry {
  event: string;
  at: string;
  ledger_id: string | null;
}

export async function showJob(
  client: JobClient,
  queueId: string,
): Promise<{ state: string; timeline: TimelineEntry[] }> {
  return await persist(
    () => call(client, `/jobs/${queueId}`),
    (reply) =>
      reply.status === 200 ? (jsonOf(reply) as { state: string; timeline: TimelineEntry[] }) : undefined,
  );
}
