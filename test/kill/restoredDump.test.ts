/**
 * Restores a dump of the database and a copy of the media into a new data folder with empty Temporal and Redis, by the
 * commands of docs/operating.md. Open jobs end once, and the ledger is unchanged.
 */
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toneWav } from '../../bench/wav.ts';
import { type JobRow, listJobs } from '../../infra/postgres/jobs.ts';
import { balanceOf, charge } from '../../infra/postgres/ledger.ts';
import { UPKEEP_WORKFLOW, type UpkeepDuty, type UpkeepWorkflow } from '../../workflows/contract.ts';
import { type EvmChain, startEvmChain } from '../chains/evmChain.ts';
import { runFarebox } from '../cli/runFarebox.ts';
import {
  awaitJob,
  call,
  completeJob,
  type JobClient,
  order as orderOnce,
  post,
  queueJob,
  retrieve,
  routeOf,
} from '../harness/jobDriver.ts';
import { services } from '../harness/services.ts';
import { modelId, simulatedVoice, simulator } from '../harness/simulatedVoices.ts';
import { until } from '../harness/until.ts';
import { createLedgerWorld, order } from '../infra/postgres/ledgerWorld.ts';
import { headerOf, paidConfig } from '../payments/paidWorld.ts';
import { FEE_KEY, signedOn } from '../providers/payments/evm/signedPayments.ts';
import { killConfig, PRICE_NANO } from './models.ts';
import type { Payer } from './payer.ts';
import { findPostgresTools } from './postgresTools.ts';
import { type Stack, startStack, startStackParts } from './stack.ts';
import { openStackTools, type StackTools } from './stackTools.ts';

const tools = await findPostgresTools();
if (!tools && process.env.CI === 'true') throw new Error('Postgres has no pg_dump, pg_restore and psql beside it.');
const WAIT_MS = 180_000;
const HOLD_MS = 30_000;
const SOURCE = toneWav(2);

/** The provider `line` runs one job at a time, which hangs before the dump and ends at once after the restore. */
function configOf(chain: EvmChain, line: object): object {
  const { providers, models, ...rest } = killConfig();
  const { x402, limits } = paidConfig(chain);
  return {
    ...{ ...rest, x402, limits },
    providers: { ...providers, line: simulator({ ...line, limits: { concurrent: 1 } }) },
    models: [...models, simulatedVoice('line', 0.1)],
  };
}

type JobName = 'done' | 'failed' | 'stored' | 'running' | 'waiting' | 'forgotten' | 'undecided';

const JOB_PROVIDERS: Record<JobName, string> = {
  done: 'instant',
  failed: 'refusing',
  stored: 'instant',
  running: 'line',
  waiting: 'line',
  forgotten: 'line',
  undecided: 'instant',
};

interface Before {
  payer: Payer;
  /** Lacks `undecided`, whose key was claimed and which was neither charged nor refused. */
  jobs: Partial<Record<JobName, string>>;
  key: Record<JobName, string>;
  wallet: string;
  rows: unknown;
}

let chain: EvmChain;
let before: Before;
let restored: unknown;
let stack: Stack;
let stackTools: StackTools;

const variables = { FEE_KEY };
const clientOf = (of: Stack, payer: Payer): JobClient => ({
  baseUrl: () => of.dev.baseUrl,
  secret: payer.secret,
});
const jobOf = (name: JobName, queueId = before.jobs[name] ?? '') => ({
  model: modelId(JOB_PROVIDERS[name]),
  queueId,
});
const orderOf = (name: JobName, idempotencyKey: string) => ({
  ...{ model: modelId(JOB_PROVIDERS[name]), source: SOURCE, idempotencyKey },
});

/** Repeats the order under its key until it is accepted. */
async function accept(client: JobClient, name: JobName, key: string) {
  const queued = await queueJob(client, orderOf(name, key));
  if (queued.ended !== 'accepted') throw new Error(`${name} was refused: ${queued.error}`);
  return queued;
}

async function sellText(client: JobClient): Promise<void> {
  const messages = [{ role: 'user', content: 'Hello' }];
  const reply = await post(client, '/chat/completions', {
    ...{ model: 'simulator-text', max_tokens: 8, messages },
  });
  expect(reply.status).toBe(200);
}

/** Tops up 10 USDC from a new wallet. Returns its address. */
async function topUp({ dev }: Stack): Promise<string> {
  const signed = await signedOn(chain);
  const answer = await fetch(`${dev.baseUrl}/x402/top-up`, {
    ...{ method: 'POST', headers: { 'PAYMENT-SIGNATURE': headerOf(chain, signed) } },
  });
  expect({ status: answer.status, body: await answer.text() }).toMatchObject({ status: 200 });
  return signed.payer.address.toLowerCase();
}

/** Writes transfers on past days, which a check then seals. */
async function writeOldDays(databaseUrl: string): Promise<void> {
  const world = await createLedgerWorld(2, databaseUrl);
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  try {
    await world.setClock(daysAgo(4));
    const account = await world.account({ usd: 1_000n });
    for (const days of [4, 3]) {
      await world.setClock(daysAgo(days));
      await charge(world.pool, order(account, { usd: 30n, diem: 0n }));
    }
  } finally {
    const now = `create or replace function ledger_now() returns timestamptz language sql volatile as
      'select clock_timestamp()'`;
    await world.owner.query(now);
    await world.close();
  }
}

async function rowsOf(databaseUrl: string): Promise<unknown> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query(
      `select (select count(*)::int from transfers) as transfers, (select count(*)::int from sealed_days) as sealed,
         (select sum(usd_posted)::text from accounts) as usd, (select count(*)::int from top_ups) as paid`,
    );
    return rows[0];
  } finally {
    await client.end();
  }
}

/** Creates jobs in every state, and a top-up. */
async function trade(of: Stack, { createPayer }: StackTools): Promise<Omit<Before, 'rows'>> {
  const payer = await createPayer(randomUUID());
  const client = clientOf(of, payer);
  await sellText(client);
  const key = Object.fromEntries(Object.keys(JOB_PROVIDERS).map((name) => [name, randomUUID()])) as Record<
    JobName,
    string
  >;
  const jobs: Before['jobs'] = {};
  for (const name of ['done', 'failed', 'stored', 'running'] as const) {
    const { queueId } = await accept(client, name, key[name]);
    jobs[name] = queueId;
    const job = { model: modelId(JOB_PROVIDERS[name]), queueId };
    if (name !== 'running') await awaitJob(client, job);
    if (name === 'done') await completeJob(client, job);
  }
  const submitted = async () => (await stateOf(client, jobs.running ?? '')) === 'submitted';
  await until('a job is at its provider', submitted, WAIT_MS);
  for (const name of ['waiting', 'forgotten'] as const) {
    jobs[name] = (await accept(client, name, key[name])).queueId;
  }
  return { payer, jobs, key, wallet: await topUp(of) };
}

async function stateOf(client: JobClient, queueId: string): Promise<unknown> {
  return JSON.parse((await call(client, `/jobs/${queueId}`)).body.toString()).state;
}

/** Media and the keys of the demo account. Without the keys a start makes another account. */
const FILES = ['s3', 'demo.json'];

function copy(from: string, to: string, name: string): void {
  cpSync(path.join(from, name), path.join(to, name), { recursive: true });
}

/** Dumps while an order has its key but waits for its charge behind the locked account, and while a hold is open. */
async function backUp(of: Stack, { payer, key }: Omit<Before, 'rows'>, folder: string): Promise<unknown> {
  const { databaseUrl } = of.dev;
  const world = await createLedgerWorld(2, databaseUrl);
  const locker = await world.owner.connect();
  try {
    const held = order(payer.accountId, { usd: 1_000n, diem: 0n });
    await world.ledger().hold({ ...held, ttlMs: HOLD_MS });
    await locker.query('begin');
    await locker.query('select from accounts where id = $1 for no key update', [payer.accountId]);
    const undecided = orderOnce(clientOf(of, payer), orderOf('undecided', key.undecided)).catch(() => undefined);
    const isClaimed = async () =>
      (await world.pool.query('select from idempotency_keys where key = $1', [key.undecided])).rowCount === 1;
    await until('the order has its key', isClaimed, WAIT_MS);
    const rows = await rowsOf(databaseUrl);
    await tools?.run('pg_dump', '--format=custom', `--file=${folder}/farebox.dump`, databaseUrl);
    for (const each of FILES) copy(of.dataFolder, folder, each);
    await locker.query('rollback');
    await undecided;
    return rows;
  } finally {
    locker.release();
    await world.close();
  }
}

/** Restores into a new data folder and moves deadlines into the past, as if the dump were old. */
async function restore(name: string, folder: string): Promise<unknown> {
  const parts = await startStackParts(name);
  try {
    await tools?.run('psql', '--dbname', parts.databaseUrl, '--command', 'create role farebox_app nologin');
    const from = ['--exit-on-error', '--no-owner', `--dbname=${parts.databaseUrl}`];
    await tools?.run('pg_restore', ...from, `${folder}/farebox.dump`);
    for (const each of FILES) copy(folder, parts.dataFolder, each);
    const rows = await rowsOf(parts.databaseUrl);
    const late = `update jobs set deadline_at = clock_timestamp() - interval '10 minutes'
      where queue_id in ('${before.jobs.running}', '${before.jobs.forgotten}')`;
    await tools?.run('psql', '--dbname', parts.databaseUrl, '--command', late);
    return rows;
  } finally {
    await parts.stop();
  }
}

describe.skipIf(tools === undefined)('a dump restored into a new data folder', () => {
  beforeAll(async () => {
    chain = await startEvmChain();
    await chain.mine(30);
    const folder = path.join(services().folder, 'backup');
    mkdirSync(folder);
    const first = await startStack('dumped', configOf(chain, { outcome: 'hang' }), variables);
    const firstTools = openStackTools(first);
    try {
      await writeOldDays(first.dev.databaseUrl);
      const traded = await trade(first, firstTools);
      expect((await firstTools.ledgerCheck()).text).toContain('sealed');
      before = { ...traded, rows: await backUp(first, traded, folder) };
    } finally {
      await firstTools.close();
      await first.stop();
    }
    restored = await restore('restored', folder);
    stack = await startStack('restored', configOf(chain, {}), variables);
    stackTools = openStackTools(stack);
  });
  afterAll(async () => {
    await stackTools?.close();
    await stack?.stop();
    await chain?.stop();
  });

  const client = () => clientOf(stack, before.payer);

  async function upkeep(duty: UpkeepDuty): Promise<number> {
    const { done } = await stackTools.temporal.client.workflow.execute<UpkeepWorkflow>(UPKEEP_WORKFLOW, {
      ...{ workflowId: `${duty}-${randomUUID()}`, taskQueue: 'jobs', args: [duty] },
    });
    return done;
  }

  async function rows(): Promise<Map<string, JobRow>> {
    const jobs = await listJobs(stackTools.pool, { accountId: before.payer.accountId, limit: 100 });
    return new Map(jobs.map((job) => [job.queueId, job]));
  }

  async function movesOf(queueId: string | undefined): Promise<string[]> {
    const { rows: moves } = await stackTools.pool.query<{ kind: string; amount: string }>(
      'select kind, amount from transfers where operation_id = $1 order by kind',
      [queueId],
    );
    return moves.map(({ kind, amount }) => `${kind} ${amount}`);
  }

  const CHARGED = `charge ${-PRICE_NANO}`;
  const REFUNDED = `refund ${PRICE_NANO}`;

  test('has the same ledger, whose sealed days match their seals', async () => {
    expect(restored).toEqual(before.rows);
    const environment = { DATABASE_URL: stack.dev.databaseUrl };
    for (const flags of [[], ['--full']]) {
      const { code, stdout, stderr } = await runFarebox(['ledger', 'check', ...flags], environment);
      expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
    }
  });

  test('agrees with the chain on the top-ups', async () => {
    const environment = {
      ...{ DATABASE_URL: stack.dev.databaseUrl, ...variables },
      FAREBOX_CONFIG: path.join(services().folder, 'restored.json'),
    };
    const { code, stdout, stderr } = await runFarebox(['top-ups', 'reconcile', '--json'], environment);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, payments: 1, differences: [] });
  });

  test('replays earlier orders under their keys without a second charge', async () => {
    for (const name of ['done', 'stored', 'running'] as const) {
      const again = await accept(client(), name, before.key[name]);
      expect({ name, ...again }).toMatchObject({ name, queueId: before.jobs[name], replayed: true });
      expect(await movesOf(before.jobs[name])).toContain(CHARGED);
    }
    const other = await orderOnce(client(), { ...orderOf('stored', before.key.stored), source: toneWav(3) });
    expect([other.status, other.body.toString()]).toEqual([400, expect.stringContaining('different request body')]);
  });

  test('delivers stored media, and removes them when the client completes the job', async () => {
    const job = jobOf('stored');
    expect((await awaitJob(client(), job)).ended).toBe('delivered');
    const done = await post(client(), routeOf({}, 'complete'), { model: job.model, queue_id: job.queueId });
    expect(done.status).toBe(200);
    const isGone = async () => {
      await upkeep('reconcileJobs');
      return (await retrieve(client(), job)).status === 404;
    };
    await until('the media are removed', isGone, WAIT_MS);
    expect(await movesOf(job.queueId)).toEqual([CHARGED]);
  });

  test('continues a charged job whose client repeats the order', async () => {
    const again = await accept(client(), 'waiting', before.key.waiting);
    expect(again).toMatchObject({ queueId: before.jobs.waiting, replayed: true });
    expect((await awaitJob(client(), jobOf('waiting'))).ended).toBe('delivered');
    expect(await movesOf(before.jobs.waiting)).toEqual([CHARGED]);
  });

  test('refunds once, by their deadline, the jobs whose clients do not return', async () => {
    for (const name of ['running', 'forgotten'] as const) {
      const queueId = before.jobs[name] ?? '';
      const isOver = async () => {
        await upkeep('reconcileJobs');
        return (await stateOf(client(), queueId)) === 'timed_out';
      };
      await until(`${name} has ended`, isOver, WAIT_MS);
      await upkeep('reconcileJobs');
      expect(await movesOf(queueId)).toEqual([CHARGED, REFUNDED]);
      expect((await accept(client(), name, before.key[name])).queueId).toBe(queueId);
    }
  });

  test('expires a hold that nothing settles', async () => {
    const held = async () => {
      await upkeep('expireHolds');
      const { rows: left } = await stackTools.pool.query('select from accounts where id = $1 and usd_held = 0', [
        before.payer.accountId,
      ]);
      return left.length === 1;
    };
    await until('the hold has expired', held, HOLD_MS + WAIT_MS);
  });

  test('accepts an order whose key was claimed before the charge, and charges once', async () => {
    const [one, two] = [
      await accept(client(), 'undecided', before.key.undecided),
      await accept(client(), 'undecided', before.key.undecided),
    ];
    expect(two).toMatchObject({ queueId: one.queueId, replayed: true });
    expect((await awaitJob(client(), jobOf('undecided', one.queueId))).ended).toBe('delivered');
    expect(await movesOf(one.queueId)).toEqual([CHARGED]);
  });

  test('sells again, and its ledger holds', async () => {
    const start = (await balanceOf(stackTools.pool, before.payer.accountId))?.usd ?? 0n;
    await sellText(client());
    expect((await balanceOf(stackTools.pool, before.payer.accountId))?.usd).toBeLessThanOrEqual(start);
    await topUp(stack);
    const ended = [...(await rows()).values()].map(({ state, refundId }) => [state, refundId !== null]);
    expect(ended.filter(([state, isRefunded]) => state === 'timed_out' && isRefunded)).toHaveLength(2);
    expect(ended.filter(([state]) => state === 'accepted' || state === 'submitted')).toEqual([]);
    expect(await stackTools.ledgerCheck()).toMatchObject({ code: 0 });
  });
});
