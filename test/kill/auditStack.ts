/** Conditions on all jobs together after the kills. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { type JobRow, listJobs } from '../../infra/postgres/jobs.ts';
import { balanceOf } from '../../infra/postgres/ledger.ts';
import { webhookSecretOf } from '../../infra/postgres/webhookSecrets.ts';
import { openOrders } from '../../providers/simulator/orders.ts';
import type { HookReceiver } from '../acceptance/hookReceiver.ts';
import { countBy } from '../harness/countBy.ts';
import { until } from '../harness/until.ts';
import { auditHooks, type HookReport } from './auditHooks.ts';
import type { ErrandEnd } from './crowd.ts';
import type { Payer } from './payer.ts';
import type { StackTools } from './stackTools.ts';
import type { Ware } from './wares.ts';

const SETTLE_LIMIT_MS = 180_000;
const MAX_JOBS = 10_000;

export interface ChaosReport {
  /** Number of jobs known to clients, by how they ended. */
  ends: Record<string, number>;
  charges: number;
  refunds: number;
  /** Orders withdrawn and refunded before an answer. The client's repetition got another job. */
  takenBack: number;
  hooks: HookReport;
  swept: number;
}

export interface Played {
  payers: readonly Payer[];
  results: readonly PromiseSettledResult<ErrandEnd>[];
  /** Quoted prices in nano. */
  quotes: ReadonlyMap<Ware, bigint>;
  receiver: HookReceiver;
}

export type Audited = Omit<StackTools, 'createPayer' | 'close'>;

export async function auditStack(tools: Audited, played: Played): Promise<ChaosReport> {
  const { payers, results, quotes, receiver } = played;
  const broken = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
  if (broken.length > 0) throw new Error(`${broken.length} did not end:\n${broken.slice(0, 5).join('\n')}`);
  await until('no workflow is open', async () => (await openOf(tools, 'generation')) === 0, SETTLE_LIMIT_MS);
  const ends = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const known = new Map(ends.map((each) => [each.queueId, each]));
  expect(known.size).toBe(results.length);
  const jobs = new Map<string, JobRow>();
  for (const payer of payers) {
    const own = await listJobs(tools.pool, { accountId: payer.accountId, limit: MAX_JOBS });
    for (const job of own) jobs.set(job.queueId, job);
    for (const job of own) auditEnd(job, known.get(job.queueId), quotes);
    await auditMoney(tools, payer, own);
    await auditKeys(tools, payer, ends);
  }
  for (const job of jobs.values()) await auditSubmissions(tools, job);
  const hooks = await auditHooks(receiver, { ends, jobs }, await secretsOf(tools, payers));
  await until('no webhook is open', async () => (await openOf(tools, 'webhook')) === 0, SETTLE_LIMIT_MS);
  const swept = await tools.sweep();
  expect(await objectsOf(tools)).toEqual([]);
  const noFiles = () => readdirSync(path.join(tools.dataFolder, 'tmp')).length === 0;
  await until('no file is left in a work folder', noFiles, SETTLE_LIMIT_MS);
  expect(await tools.ledgerCheck()).toEqual({ code: 0, text: 'ledger: every invariant holds\n' });
  const refunds = [...jobs.values()].filter(({ refundId }) => refundId !== null).length;
  const takenBack = jobs.size - known.size;
  return { ends: countBy(ends.map(({ end }) => end)), charges: jobs.size, refunds, takenBack, hooks, swept };
}

/** Expects the end that the client saw, one that the service allows, and the quoted price. */
function auditEnd(job: JobRow, ended: ErrandEnd | undefined, quotes: ReadonlyMap<Ware, bigint>): void {
  const { queueId, state, refundId, modelId, priceUsdNano } = job;
  const found = `${queueId} ${modelId} ${state} ${refundId === null ? 'kept' : 'refunded'}`;
  // Withdrawn by the request that gave it up, or by the workflow when its acceptance was interrupted.
  const over = ended ? [ended.end] : (['cancelled', 'failed'] as const);
  const wanted = over.map((end) => `${queueId} ${modelId} ${end} ${end === 'deleted' ? 'kept' : 'refunded'}`);
  expect(wanted).toContain(found);
  if (!ended) return;
  const { ware } = ended.errand;
  const end = `${queueId} ${ended.end} (${job.failureCode}: ${job.failureMessage})`;
  expect(`${modelId} ${ware.ends.includes(ended.end) ? 'as it behaves' : end}`).toBe(`${modelId} as it behaves`);
  expect([modelId, priceUsdNano]).toEqual([ware.order.model, quotes.get(ware)]);
}

/** Expects one charge per job and one refund per refunded job. The balance is reduced by the jobs that were kept. */
async function auditMoney({ pool }: Audited, payer: Payer, jobs: readonly JobRow[]): Promise<void> {
  const { rows } = await pool.query<{ kind: string; operation_id: string; amount: string }>(
    `select kind, operation_id, amount from transfers where account_id = $1 and kind in ('charge', 'refund')`,
    [payer.accountId],
  );
  const moves = rows.map(({ kind, operation_id, amount }) => `${kind} ${operation_id} ${amount}`);
  const refunded = jobs.filter((job) => job.refundId !== null);
  const due = [
    ...jobs.map((job) => `charge ${job.queueId} ${-job.priceUsdNano}`),
    ...refunded.map((job) => `refund ${job.queueId} ${job.priceUsdNano}`),
  ];
  expect(moves.sort()).toEqual(due.sort());
  const kept = jobs.filter((job) => job.refundId === null);
  const spent = kept.reduce((sum, job) => sum + job.priceUsdNano, 0n);
  expect((await balanceOf(pool, payer.accountId))?.usd).toBe(payer.startNano - spent);
}

/** Each idempotency key names the one job that its client knows. Other charges under it were refunded. */
async function auditKeys({ pool }: Audited, payer: Payer, ends: readonly ErrandEnd[]): Promise<void> {
  const { rows } = await pool.query<{ key: string; queue_id: string }>(
    'select key, queue_id from idempotency_keys where account_id = $1',
    [payer.accountId],
  );
  const own = ends.filter(({ errand }) => errand.payer === payer);
  const wanted = own.map(({ errand, queueId }) => `${errand.idempotencyKey} ${queueId}`);
  expect(rows.map(({ key, queue_id }) => `${key} ${queue_id}`).sort()).toEqual(wanted.sort());
}

/** Expects at most one submission to the provider. */
async function auditSubmissions({ dataFolder }: Audited, { provider, queueId }: JobRow): Promise<void> {
  const orders = openOrders(path.join(dataFolder, 'simulator', provider));
  expect((await orders.submissions(queueId)).length).toBeLessThanOrEqual(1);
}

async function secretsOf({ pool }: Audited, payers: readonly Payer[]): Promise<Map<string, string>> {
  const secrets = new Map<string, string>();
  for (const { accountId } of payers) {
    const { secret } = await webhookSecretOf(pool, accountId);
    secrets.set(accountId, `whsec_${secret.toString('base64')}`);
  }
  return secrets;
}

async function openOf({ temporal }: Audited, type: 'generation' | 'webhook'): Promise<number> {
  const query = `WorkflowType = "${type}" and ExecutionStatus = "Running"`;
  return (await temporal.client.workflow.count(query)).count;
}

async function objectsOf({ storage }: Audited): Promise<string[]> {
  const pages = await Promise.all([storage.list('incoming/'), storage.list('output/')]);
  return pages.flatMap((page) => page.objects.map((object) => object.key));
}
