/** What must be true of all jobs together when the chaos is over. */
import { expect } from 'vitest';
import { type JobRow, listJobs } from '../../infra/postgres/jobs.ts';
import { balanceOf } from '../../infra/postgres/ledger.ts';
import { until } from '../harness/until.ts';
import type { ErrandEnd } from './crowd.ts';
import type { Payer } from './payer.ts';
import type { StackTools } from './stackTools.ts';

const SETTLE_LIMIT_MS = 60_000;
const MOST_JOBS = 10_000;

export interface ChaosReport {
  delivered: number;
  failed: number;
  /** Orders that were given up unanswered, taken back and refunded; the client's repetition got another job. */
  takenBack: number;
  swept: number;
}

export async function auditStack(
  tools: StackTools,
  payers: readonly Payer[],
  results: readonly PromiseSettledResult<ErrandEnd>[],
): Promise<ChaosReport> {
  const broken = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
  if (broken.length > 0) throw new Error(`${broken.length} did not end, the first: ${broken[0]}`);
  await until('no workflow is open', () => noneOpen(tools), SETTLE_LIMIT_MS);
  const ends = new Map(
    results.flatMap((result) =>
      result.status === 'fulfilled' ? [[result.value.queueId, result.value] as const] : [],
    ),
  );
  expect(ends.size).toBe(results.length);
  let takenBack = 0;
  for (const payer of payers) takenBack += await auditPayer(tools, payer, ends);
  const swept = await tools.sweep();
  expect(await objectsOf(tools)).toEqual([]);
  expect(await tools.ledgerCheck()).toEqual({ code: 0, text: 'ledger: every invariant holds\n' });
  const delivered = [...ends.values()].filter(({ end }) => end === 'delivered').length;
  return { delivered, failed: ends.size - delivered, takenBack, swept };
}

/** Each job was paid for once, or once and given back; the balance is what is left after those that were kept. */
async function auditPayer(
  { pool }: StackTools,
  payer: Payer,
  ends: ReadonlyMap<string, ErrandEnd>,
): Promise<number> {
  const jobs = await listJobs(pool, { accountId: payer.accountId, limit: MOST_JOBS });
  const known = jobs.filter((job) => ends.has(job.queueId));
  for (const job of known) expect(told(job)).toBe(wanted(ends.get(job.queueId), job));
  const unknown = jobs.filter((job) => !ends.has(job.queueId));
  // Taken back by the request that gave it up, or by the workflow itself when its acceptance was interrupted.
  const over = ['cancelled', 'failed'].map((state) => `${state} refunded`);
  for (const job of unknown) expect(over.map((end) => `${job.queueId} ${end}`)).toContain(told(job));
  const { rows } = await pool.query<{ kind: string; operation_id: string }>(
    `select kind, operation_id from transfers where account_id = $1 and kind in ('charge', 'refund')`,
    [payer.accountId],
  );
  const moves = rows.map(({ kind, operation_id }) => `${kind} ${operation_id}`).sort();
  const refunded = jobs.filter((job) => job.refundId !== null);
  const paid = [
    ...jobs.map((job) => `charge ${job.queueId}`),
    ...refunded.map((job) => `refund ${job.queueId}`),
  ];
  expect(moves).toEqual(paid.sort());
  const kept = jobs.filter((job) => job.refundId === null);
  const spent = kept.reduce((sum, job) => sum + job.priceUsdNano, 0n);
  expect((await balanceOf(pool, payer.accountId))?.usd).toBe(payer.startNano - spent);
  return unknown.length;
}

function told({ queueId, state, refundId }: JobRow): string {
  return `${queueId} ${state} ${refundId === null ? 'kept' : 'refunded'}`;
}

/** A service that says no is the only reason for a job to fail. */
function wanted(end: ErrandEnd | undefined, { queueId, modelId }: JobRow): string {
  const delivers = modelId !== 'model-refusing';
  expect(`${queueId} ${end?.end}`).toBe(`${queueId} ${delivers ? 'delivered' : 'failed'}`);
  return delivers ? `${queueId} deleted kept` : `${queueId} failed refunded`;
}

async function noneOpen({ temporal }: StackTools): Promise<boolean> {
  const query = 'WorkflowType = "generation" and ExecutionStatus = "Running"';
  return (await temporal.client.workflow.count(query)).count === 0;
}

async function objectsOf({ storage }: StackTools): Promise<string[]> {
  const pages = await Promise.all([storage.list('incoming/'), storage.list('output/')]);
  return pages.flatMap((page) => page.objects.map((object) => object.key));
}
