/** Conditions on all webhooks that clients received. */
import { expect } from 'vitest';
import type { JobRow } from '../../infra/postgres/jobs.ts';
import { type HookReceiver, type Message, readOld } from '../acceptance/hookReceiver.ts';
import { until } from '../harness/until.ts';
import type { ErrandEnd } from './crowd.ts';
import type { End } from './wares.ts';

/** Covers the 5 s until the retry of a refused webhook and the 30 s until a dead worker is noticed. */
const TOLD_LIMIT_MS = 180_000;

export interface HookReport {
  /** Distinct messages. */
  told: number;
  /** Repeated deliveries of the same messages. */
  repeated: number;
}

/** `secrets` has the webhook secret of each account id. */
export async function auditHooks(
  receiver: HookReceiver,
  { ends, jobs }: { ends: readonly ErrandEnd[]; jobs: ReadonlyMap<string, JobRow> },
  secrets: ReadonlyMap<string, string>,
): Promise<HookReport> {
  const hooked = ends.flatMap(({ errand, queueId, end }) =>
    errand.hook ? [{ hook: errand.hook, payer: errand.payer, queueId, end }] : [],
  );
  let told = 0;
  let all = 0;
  for (const { hook, payer, queueId, end } of hooked) {
    const wanted = EVENTS_OF[end].filter((event) => hook.events.some((each) => each === event));
    const arrived = () =>
      receiver.received
        .filter(({ path }) => path === hook.path)
        .map((each) => messageOf(secrets.get(payer.accountId) ?? '', each));
    const typesOf = () => arrived().flatMap(({ data, type }) => (data.queue_id === queueId ? [type] : []));
    const isTold = () => wanted.every((event) => typesOf().includes(event));
    await until(`${hook.path} is told ${wanted.join()} of ${queueId}`, isTold, TOLD_LIMIT_MS);
    const messages = new Map(arrived().map((message) => [message.id, message]));
    for (const message of arrived()) expect(message).toEqual(messages.get(message.id));
    const own = [...messages.values()].filter(({ data }) => data.queue_id === queueId);
    expect(own.map(({ type }) => type).sort()).toEqual([...wanted].sort());
    for (const message of messages.values()) auditMessage(message, jobs.get(message.data.queue_id));
    told += messages.size;
    all += arrived().length;
  }
  const paths = new Set(hooked.map(({ hook }) => hook.path));
  expect(receiver.received.filter(({ path }) => !paths.has(path))).toEqual([]);
  return { told, repeated: all - told };
}

const EVENTS_OF: Record<End, readonly string[]> = {
  deleted: ['job.stored', 'job.deleted'],
  failed: ['job.failed'],
  cancelled: ['job.cancelled'],
};

/** Throws unless the signature is made with this account's secret. */
function messageOf(secret: string, received: HookReceiver['received'][number]): Message {
  const message = readOld(secret, received);
  expect(message.id).toBe(received.id);
  return message;
}

/** The message has the state of its event, and the charge and refund of the ledger. */
function auditMessage({ type, data }: Message, job: JobRow | undefined): void {
  const { state, charge_id, refund_id, credits_refunded } = data;
  expect(`job.${state}`).toBe(type);
  expect({ charge_id, refund_id, credits_refunded }).toEqual({
    charge_id: job?.chargeId,
    refund_id: job?.refundId,
    credits_refunded: job?.refundId !== null,
  });
}
