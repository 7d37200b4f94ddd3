/** Concurrent clients: each orders, waits, fetches and completes, and retries when something breaks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { nanoFromNumber } from '../../domain/money.ts';
import { DEFAULT_WEBHOOK_EVENTS, WEBHOOK_EVENTS, type WebhookEvent } from '../../domain/webhooks.ts';
import {
  awaitJob,
  cancelJob,
  completeJob,
  deleteLinked,
  type Job,
  type JobClient,
  type JobOrder,
  jsonOf,
  order,
  persist,
  post,
  readOrder,
  routeOf,
  showJob,
} from '../harness/jobDriver.ts';
import type { Payer } from './payer.ts';
import type { Chance } from './random.ts';
import type { End, Ware } from './wares.ts';

interface Hook {
  /** Path at the receiver. */
  path: string;
  url: string;
  events: readonly WebhookEvent[];
}

export interface Errand {
  payer: Payer;
  ware: Ware;
  idempotencyKey: string;
  startAfterMs: number;
  hook?: Hook;
  /** Sends the order again after it was accepted. */
  repeats: boolean;
  /** Requests deletion with the download. */
  deleteOnDelivery: boolean;
  onAccepted?: () => void;
  /** The client completes the job when this resolves, or at once if undefined. */
  completeWhen?: Promise<void>;
}

export interface ErrandEnd {
  errand: Errand;
  queueId: string;
  end: End;
}

interface Crowd {
  payers: readonly Payer[];
  wares: readonly Ware[];
  count: number;
  withinMs: number;
  /** URL of a path at the receiver. */
  hookUrl(path: string): string;
}

export function errandsFor({ payers, wares, count, withinMs, hookUrl }: Crowd, chance: Chance): Errand[] {
  let next: Ware[] = [];
  return Array.from({ length: count }, (_, index) => {
    if (next.length === 0) next = chance.shuffle(wares);
    const ware = next.pop() ?? chance.pick(wares);
    const path = `/${index % 6 === 0 ? 'flaky' : 'ok'}/${index}`;
    const events = index % 4 === 0 ? WEBHOOK_EVENTS : DEFAULT_WEBHOOK_EVENTS;
    return {
      payer: chance.pick(payers),
      ware,
      idempotencyKey: `errand-${index}`,
      startAfterMs: (index / count) * withinMs,
      ...(index % 2 === 0 && { hook: { path, url: hookUrl(path), events } }),
      repeats: index % 3 === 0,
      deleteOnDelivery: index % 5 === 0,
    };
  });
}

export async function runErrand(baseUrl: string, errand: Errand, limitMs: number): Promise<ErrandEnd> {
  const { payer, ware, idempotencyKey } = errand;
  const client: JobClient = { baseUrl: () => baseUrl, secret: payer.secret };
  await sleep(errand.startAfterMs);
  try {
    const job = await place(client, errand, limitMs);
    errand.onAccepted?.();
    if (ware.calledOffAfterMs !== undefined) {
      await sleep(ware.calledOffAfterMs);
      await cancelJob(client, job, limitMs);
    }
    return { errand, queueId: job.queueId, end: await seeThrough(client, { job, errand }, limitMs) };
  } catch (error) {
    throw new Error(`${idempotencyKey} (${ware.order.model}): ${String(error)}`, { cause: error });
  }
}

async function place(client: JobClient, errand: Errand, limitMs: number): Promise<Job> {
  const wanted = orderOf(errand);
  const queued = await persist(() => order(client, wanted), readOrder, limitMs);
  if (queued.ended !== 'accepted') throw new Error(`refused: ${queued.status} ${queued.error}`);
  const { queueId, downloadUrl } = queued;
  if (errand.repeats) {
    const again = await persist(() => order(client, wanted), readOrder, limitMs);
    const isSame = again.ended === 'accepted' && again.replayed && again.queueId === queueId;
    if (!isSame) throw new Error(`repeated, ${queueId} became ${JSON.stringify(again)}`);
  }
  const { kind = 'voice-changer', model } = wanted;
  return { kind, model, queueId, ...(downloadUrl !== undefined && { downloadUrl }) };
}

function orderOf({ ware, hook, idempotencyKey }: Errand): JobOrder {
  const told = hook && { webhook_url: hook.url, webhook_events: hook.events };
  return { ...ware.order, fields: { ...ware.order.fields, ...told }, idempotencyKey };
}

const MEDIA_TYPE = { 'voice-changer': 'audio/', audio: 'audio/', video: 'video/' } as const;

interface Placed {
  job: Job;
  errand: Errand;
}

/** The end that the client saw. */
async function seeThrough(client: JobClient, { job, errand }: Placed, limitMs: number): Promise<End> {
  const { deleteOnDelivery } = errand;
  const end = await awaitJob(client, job, { limitMs, deleteOnDelivery });
  if (end.ended === 'gone') throw new Error(`the media of ${job.queueId} are gone`);
  if (end.ended === 'failed') {
    const shown = await showJob(client, job.queueId, limitMs);
    if (end.refunded === false || !shown.credits_refunded) throw new Error(`${job.queueId} failed without a refund`);
    if (shown.state === 'failed' || shown.state === 'cancelled') return shown.state;
    throw new Error(`${job.queueId} failed and is ${shown.state}`);
  }
  const type = MEDIA_TYPE[job.kind ?? 'voice-changer'];
  if (!end.contentType.startsWith(type)) throw new Error(`${job.queueId} is ${end.contentType}`);
  await errand.completeWhen;
  // Needed even after `deleteOnDelivery`: the process may have died between the last byte and the deletion.
  if (job.downloadUrl !== undefined && deleteOnDelivery) await deleteLinked(job, limitMs);
  await completeJob(client, job, limitMs);
  return 'deleted';
}

/** Quoted price of each order, in nano. */
export async function quotesOf(client: JobClient, wares: readonly Ware[]): Promise<Map<Ware, bigint>> {
  const quotes = new Map<Ware, bigint>();
  for (const ware of wares) {
    const { order: wanted, quote } = ware;
    const reply = await post(client, routeOf(wanted, 'quote'), { model: wanted.model, ...quote });
    const price = nanoFromNumber(Number(jsonOf(reply).quote));
    if (reply.status !== 200 || price === undefined)
      throw new Error(`no quote for ${wanted.model}: ${reply.status} ${reply.body.toString()}`);
    quotes.set(ware, price);
  }
  return quotes;
}
