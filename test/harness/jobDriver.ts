/**
 * Client of a job: orders with an Idempotency-Key, repeats requests after a broken connection or a temporary refusal,
 * polls until the job ended, then completes it.
 */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobKind } from '../../domain/jobs.ts';

export interface JobClient {
  /** `http://…/api/v1`, read for each request, which another process may serve. */
  baseUrl(): string;
  secret: string;
}

export interface JobOrder {
  /** Default: voice-changer. */
  kind?: JobKind;
  model: string;
  /** With a recording the order is a form, otherwise JSON. */
  source?: Buffer;
  fields?: Readonly<Record<string, unknown>>;
  idempotencyKey?: string;
  /** Additional headers, such as `Cancel-After`. */
  headers?: Readonly<Record<string, string>>;
}

interface Accepted {
  queueId: string;
  durationSeconds: number;
  replayed: boolean;
  /** Download URL of a linked video. */
  downloadUrl?: string;
}

export type QueueEnd = ({ ended: 'accepted' } & Accepted) | { ended: 'refused'; status: number; error: string };

export type JobEnd =
  | { ended: 'delivered'; bytes: Buffer; contentType: string }
  /** The job failed. `refunded` is undefined for an audio job that its provider refused, whose reply omits it. */
  | { ended: 'failed'; status: number; error: string; refunded: boolean | undefined }
  /** The media are deleted. */
  | { ended: 'gone' };

const PAUSE_MS = 200;
const REQUEST_LIMIT_MS = 80_000;
const JOB_LIMIT_MS = 400_000;

export interface Reply {
  status: number;
  headers: Headers;
  body: Buffer;
}

/** Sends one request. Throws if the connection breaks before the last byte. */
export function call(client: JobClient, path: string, init: RequestInit = {}): Promise<Reply> {
  const headers = { Authorization: `Bearer ${client.secret}`, ...init.headers };
  return ask(`${client.baseUrl()}${path}`, { ...init, headers });
}

async function ask(url: string, init: RequestInit): Promise<Reply> {
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_LIMIT_MS) });
  return {
    status: answer.status,
    headers: answer.headers,
    body: Buffer.from(await answer.arrayBuffer()),
  };
}

export function post(client: JobClient, path: string, body: unknown): Promise<Reply> {
  return call(client, path, asJson(body));
}

function asJson(body: unknown): RequestInit & { headers: Record<string, string> } {
  return { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
}

export function jsonOf(reply: Reply): Record<string, unknown> {
  return JSON.parse(reply.body.toString()) as Record<string, unknown>;
}

/** Repeats a request until `done` accepts its reply. Broken connections are retried. */
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

const ROUTES: Record<JobKind, string> = {
  'voice-changer': '/audio/voice-changer',
  audio: '/audio',
  video: '/video',
};

export function routeOf({ kind = 'voice-changer' }: { kind?: JobKind }, step: string): string {
  return `${ROUTES[kind]}/${step}`;
}

/** Sends an order once. */
export function order(client: JobClient, wanted: JobOrder): Promise<Reply> {
  const { idempotencyKey, source } = wanted;
  const headers = {
    ...wanted.headers,
    ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
  };
  const path = routeOf(wanted, 'queue');
  if (source) return call(client, path, { method: 'POST', headers, body: formOf(wanted, source) });
  const json = asJson({ model: wanted.model, ...wanted.fields });
  return call(client, path, { ...json, headers: { ...json.headers, ...headers } });
}

/** Lists are one field with commas. */
function formOf({ model, fields }: JobOrder, source: Buffer): FormData {
  const form = new FormData();
  form.set('model', model);
  for (const [name, value] of Object.entries(fields ?? {})) form.set(name, String(value));
  form.set('file', new Blob([new Uint8Array(source)], { type: 'audio/wav' }), 'source.wav');
  return form;
}

/** Parses a reply to an order. Undefined asks to retry with the same key. */
export function readOrder(reply: Reply): QueueEnd | undefined {
  if (reply.status >= 500 || reply.status === 429) return undefined;
  const body = jsonOf(reply);
  if (reply.status !== 200) return { ended: 'refused', status: reply.status, error: String(body.error) };
  return {
    ended: 'accepted',
    queueId: String(body.queue_id),
    durationSeconds: Number(body.duration_seconds),
    replayed: reply.headers.get('idempotent-replayed') === 'true',
    ...(typeof body.download_url === 'string' && { downloadUrl: body.download_url }),
  };
}

export function queueJob(client: JobClient, wanted: JobOrder): Promise<QueueEnd> {
  const keyed = { ...wanted, idempotencyKey: wanted.idempotencyKey ?? randomUUID() };
  return persist(() => order(client, keyed), readOrder);
}

export interface Job {
  /** Default: voice-changer. */
  kind?: JobKind;
  model: string;
  queueId: string;
  /** URL of the video, which is fetched where retrieve reports it ready and does not send it. */
  downloadUrl?: string;
}

export async function retrieve(client: JobClient, job: Job, extra: Record<string, unknown> = {}): Promise<Reply> {
  const named = { model: job.model, queue_id: job.queueId };
  const reply = await post(client, routeOf(job, 'retrieve'), { ...named, ...extra });
  const isStatus = reply.status === 200 && isJson(reply);
  return job.downloadUrl !== undefined && isStatus && jsonOf(reply).status === 'COMPLETED'
    ? await ask(job.downloadUrl, {})
    : reply;
}

function isJson({ headers }: Reply): boolean {
  return (headers.get('content-type') ?? '').startsWith('application/json');
}

/** Parses a reply to retrieve. Undefined before the end. Throws if the media contradict their headers. */
export function readRetrieve(reply: Reply): JobEnd | undefined {
  if (reply.status === 200 && !isJson(reply)) {
    const sha256 = createHash('sha256').update(reply.body).digest('hex');
    if (reply.headers.get('etag') !== `"${sha256}"`) throw new Error('the media is not what was stored');
    return { ended: 'delivered', bytes: reply.body, contentType: reply.headers.get('content-type') ?? '' };
  }
  if (reply.status === 200) return undefined;
  return readVerdict(reply) ?? (reply.status === 404 ? { ended: 'gone' } : undefined);
}

const PROVIDER_REFUSED = 422;

/** Reads a failure, whose shape depends on the kind of job (JOB-7). */
function readVerdict({ status, body }: Reply): JobEnd | undefined {
  const said = JSON.parse(body.toString()) as Verdict;
  const nested = typeof said.error === 'object' ? said.error : undefined;
  const refunded = said.credits_refunded ?? nested?.credits_refunded;
  if (refunded === undefined && status !== PROVIDER_REFUSED) return undefined;
  return { ended: 'failed', status, error: nested?.message ?? String(said.error), refunded };
}

interface Verdict {
  error?: string | { message: string; credits_refunded?: boolean };
  credits_refunded?: boolean;
}

export interface WaitOptions {
  limitMs?: number | undefined;
  /** Requests deletion with the download. */
  deleteOnDelivery?: boolean | undefined;
}

export function awaitJob(client: JobClient, job: Job, patience: WaitOptions = {}): Promise<JobEnd> {
  const extra = patience.deleteOnDelivery ? { delete_media_on_completion: true } : {};
  return persist(() => retrieve(client, job, extra), readRetrieve, patience.limitMs);
}

/** Repeats until the service reports the media deleted. */
export async function completeJob(client: JobClient, job: Job, limitMs?: number): Promise<void> {
  const body = { model: job.model, queue_id: job.queueId };
  await persist(
    () => post(client, routeOf(job, 'complete'), body),
    (reply) => (reply.status === 200 && jsonOf(reply).success === true ? true : undefined),
    limitMs,
  );
}

/** Deletes by the URL of a linked job, which is gone once it was deleted. */
export async function deleteLinked(job: Job, limitMs?: number): Promise<void> {
  await persist(
    () => ask(job.downloadUrl ?? '', { method: 'DELETE' }),
    ({ status }) => (status === 204 || status === 404 ? true : undefined),
    limitMs,
  );
}

/** Repeats until the job has ended in any state. */
export async function cancelJob(client: JobClient, job: Job, limitMs?: number): Promise<void> {
  await persist(
    () => call(client, `/jobs/${job.queueId}/cancel`, { method: 'POST' }),
    (reply) => {
      if (reply.status === 200) return true;
      return reply.status === 409 && !/try again/.test(reply.body.toString()) ? true : undefined;
    },
    limitMs,
  );
}

export interface TimelineEntry {
  event: string;
  at: string;
  ledger_id: string | null;
}

export interface ShownJob {
  state: string;
  credits_refunded: boolean;
  timeline: TimelineEntry[];
}

export function showJob(client: JobClient, queueId: string, limitMs?: number): Promise<ShownJob> {
  return persist(
    () => call(client, `/jobs/${queueId}`),
    (reply) => (reply.status === 200 ? (JSON.parse(reply.body.toString()) as ShownJob) : undefined),
    limitMs,
  );
}
