/** Conditions that every finished job meets, whatever happened on the way. */
import path from 'node:path';
import { expect } from 'vitest';
import { isFinal, type JobState, wasWithdrawn } from '../../domain/jobs.ts';
import { listJobs } from '../../infra/postgres/jobs.ts';
import { balanceOf } from '../../infra/postgres/ledger.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { openOrders } from '../../providers/simulator/orders.ts';
import { type JobClient, showJob, type TimelineEntry } from '../harness/jobDriver.ts';
import { until } from '../harness/until.ts';
import type { FlowResult } from './flows.ts';
import type { KillWorld } from './killWorld.ts';
import { PRICE_NANO } from './models.ts';
import type { Payer } from './payer.ts';

const SETTLE_LIMIT_MS = 180_000;

interface Played {
  payer: Payer;
  client: JobClient;
  result: FlowResult;
}

/** Throws at the first violation. `swept` counts the objects that only the sweep removed. */
export async function auditJob(world: KillWorld, played: Played): Promise<{ swept: number }> {
  const { queueId } = played.result;
  await until('the workflow is closed', () => isClosed(world, queueId), SETTLE_LIMIT_MS);
  const swept = await auditBucket(world, queueId);
  const state = await auditRow(world, played);
  await auditMoney(world, played);
  const { timeline } = await showJob(played.client, queueId);
  auditTimeline(timeline, state, played.result.kind !== 'audio');
  await auditSubmissions(world, played.result);
  expect(await checkLedger(world.pool)).toEqual([]);
  return { swept };
}

async function isClosed({ temporal }: KillWorld, queueId: string): Promise<boolean> {
  const { status } = await temporal.client.workflow.getHandle(queueId).describe();
  if (status.name !== 'RUNNING' && status.name !== 'COMPLETED') throw new Error(`the workflow is ${status.name}`);
  return status.name === 'COMPLETED';
}

/**
 * A busy machine may answer an order too late. Its job is then refunded, and the repetition with the same key is a new
 * order. Every other job of the payer must be such a withdrawn one.
 */
async function auditRow({ pool }: KillWorld, { payer, result }: Played): Promise<JobState> {
  const jobs = await listJobs(pool, { accountId: payer.accountId, limit: 10 });
  const standing = jobs.filter((job) => !wasWithdrawn(job));
  expect(standing.map((job) => job.queueId)).toEqual([result.queueId]);
  const state = standing[0]?.state ?? 'accepted';
  expect(isFinal(state)).toBe(true);
  expect({ end: result.end, state }).toEqual({ end: result.end, state: STATE_OF[result.end](state) });
  return state;
}

/** The final state that fits what the client saw. */
const STATE_OF: Record<FlowResult['end'], (state: JobState) => JobState> = {
  delivered: () => 'deleted',
  gone: () => 'expired',
  failed: (state) => (state === 'cancelled' ? 'cancelled' : 'failed'),
};

/** Expects one charge, with one refund if the job failed or was withdrawn. */
async function auditMoney({ pool }: KillWorld, { payer, result }: Played): Promise<void> {
  const { rows } = await pool.query<{ kind: string; operation_id: string; amount: string }>(
    `select kind, operation_id, amount from transfers where account_id = $1 and kind <> 'grant' order by kind`,
    [payer.accountId],
  );
  const local = result.model === 'local-voice-changer';
  const price = local ? PRICE_NANO / 2n : PRICE_NANO;
  const kept = result.end !== 'failed';
  for (const id of new Set([result.queueId, ...rows.map((row) => row.operation_id)])) {
    const moves = rows.filter((row) => row.operation_id === id).map(({ kind, amount }) => [kind, BigInt(amount)]);
    const charged = ['charge', -price];
    const refunded = ['refund', price];
    expect({ id, moves }).toEqual({
      id,
      moves: kept && id === result.queueId ? [charged] : [charged, refunded],
    });
  }
  const balance = await balanceOf(pool, payer.accountId);
  expect(balance?.usd).toBe(payer.startNano - (kept ? price : 0n));
}

const HAPPY = ['measured', 'charged', 'submitted', 'stored'];
const WAYS: Partial<Record<JobState, string[]>> = {
  deleted: [...HAPPY, 'delivered', 'deleted'],
  expired: [...HAPPY, 'delivered', 'expired'],
  failed: ['measured', 'charged', 'submitted', 'failed', 'refunded'],
  cancelled: ['measured', 'charged', 'cancelled', 'refunded'],
};

/** Expects every necessary event in order of time, and none that contradicts the state. */
function auditTimeline(timeline: readonly TimelineEntry[], state: JobState, isMeasured = true): void {
  const wanted = WAYS[state] ?? [];
  const told = timeline.map((entry) => entry.event);
  // `delivered` is recorded after the last byte, so a process that dies in between leaves no such event.
  const needed = wanted.filter((event) => event !== 'delivered' && (isMeasured || event !== 'measured'));
  expect(told.filter((event) => needed.includes(event))).toEqual(needed);
  const strange = state === 'failed' || state === 'cancelled' ? ['stored', 'deleted'] : ['failed', 'refunded'];
  expect(told.filter((event) => strange.includes(event))).toEqual([]);
  for (const entry of timeline) {
    const isMoney = entry.event === 'charged' || entry.event === 'refunded';
    expect(`${entry.event} ${entry.ledger_id !== null}`).toBe(`${entry.event} ${isMoney}`);
  }
}

/** Expects no object of the job. The sweep removes those that a dead attempt could not remove. */
async function auditBucket(world: KillWorld, queueId: string): Promise<number> {
  const left = async () => [
    ...(await world.storage.list(`incoming/${queueId}/`)).objects,
    ...(await world.storage.list(`output/${queueId}/`)).objects,
  ];
  const count = (await left()).length;
  if (count === 0) return 0;
  await world.sweep();
  expect(await left()).toEqual([]);
  return count;
}

/** Expects at most one submission to the provider. */
async function auditSubmissions({ environment }: KillWorld, { model, queueId }: FlowResult): Promise<void> {
  const provider = model.replace(/^model-/, '');
  const orders = openOrders(path.join(environment.FAREBOX_DATA ?? '', 'simulator', provider));
  expect((await orders.submissions(queueId)).length).toBeLessThanOrEqual(1);
}
