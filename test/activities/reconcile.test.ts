/** Upkeep duties behind the workflows: they reach every row, also behind failing rows, and without a workflow. */
import { randomUUID } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createAccountTurns } from '../../activities/accountTransaction.ts';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import { performDuty } from '../../activities/upkeep.ts';
import { readJob } from '../../infra/postgres/jobs.ts';
import { charge, grant } from '../../infra/postgres/ledger.ts';
import { refundFailures } from '../../infra/telemetry/counters.ts';
import type { UpkeepDuty } from '../../workflows/contract.ts';
import { type FlowWorld, openFlowWorld } from '../infra/postgres/flowWorld.ts';
import { both, SNAPSHOT } from '../infra/postgres/ledgerWorld.ts';

/** More rows than one page of a duty. */
const CROWD = 501;
/** The only payment without an open workflow. */
const LOST = topUpId(CROWD);

let world: FlowWorld;
let lines: { level: string; words: string; fields: Record<string, unknown> }[];
let started: string[];

beforeAll(async () => {
  world = await openFlowWorld();
});
afterAll(() => world.close());
beforeEach(() => {
  lines = [];
  started = [];
});

/** Every workflow but that of `LOST` is open. For keys with `isStuck`, media removal and webhook start fail. */
function perform(duty: UpkeepDuty, isStuck: (key: string) => boolean = () => false) {
  const tell = (level: string) => (fields: Record<string, unknown>, words: string) =>
    lines.push({ level, words, fields });
  const given = {
    pool: world.ledger.pool,
    accountTurns: createAccountTurns(),
    storage: {
      remove: async () => undefined,
      list: async (prefix: string) => {
        if (isStuck(prefix)) throw new Error('storage does not answer');
        return { objects: [] };
      },
    },
    log: { info: tell('info'), warn: tell('warn'), error: tell('error') },
    isWorkflowOpen: async (id: string) => id !== LOST,
    startTopUp: async ({ paymentId }: { paymentId: string }) => started.push(paymentId),
    startWebhook: async ({ queueId }: { queueId: string }) => {
      if (isStuck(queueId)) throw new Error('Temporal does not take it');
      started.push(queueId);
    },
  };
  return new MockActivityEnvironment().run(() =>
    performDuty(given as unknown as ActivityDependencies, duty, { topUpGraceMs: 0 }),
  );
}

async function failures(): Promise<number> {
  const { values } = await refundFailures.get();
  return values.find(({ labels }) => labels.reason === 'timed_out')?.value ?? 0;
}

const query = (text: string, values: unknown[]) => world.ledger.owner.query(text, values);

it('a job past its deadline is refunded behind more than a page of jobs that cannot be, whose failures are told', async () => {
  const accountId = await world.account();
  await grant(world.ledger.pool, {
    ...{ operationId: randomUUID(), accountId, currency: 'usd', amount: 1_000n, notes: 'test' },
  });
  // Jobs without a charge cannot be refunded, so ending them fails each time.
  const broken = await world.jobs(accountId, CROWD);
  const [owed = ''] = await world.jobs(accountId, 1);
  await charge(world.ledger.pool, {
    operationId: owed,
    accountId,
    keyId: null,
    price: both(400n),
    snapshot: SNAPSHOT,
  });
  await query(`update jobs set deadline_at = now() - interval '2 hours' where queue_id = any ($1)`, [broken]);
  await query(`update jobs set deadline_at = now() - interval '1 hour' where queue_id = $1`, [owed]);
  const failuresBefore = await failures();
  expect(await perform('reconcileJobs')).toEqual({ done: 1 });
  expect(await readJob(world.ledger.pool, owed)).toMatchObject({ state: 'timed_out', refundId: owed });
  expect((await world.ledger.balance(accountId)).usd).toBe(1_000n);
  expect(await failures()).toBe(failuresBefore + CROWD);
  const failed = lines.filter(({ level }) => level === 'error').map(({ fields }) => fields.queueId);
  expect(new Set(failed)).toEqual(new Set(broken));
  await query('delete from jobs where queue_id = any ($1)', [broken]);
});

it('removes media past their retention behind more than a page of media that cannot be removed', async () => {
  const accountId = await world.account();
  const stuck = await world.jobs(accountId, CROWD);
  const [last = ''] = await world.jobs(accountId, 1);
  await world.finish(...stuck, last);
  // Media of completed jobs without a workflow share one time, so no order among them is defined.
  await query(`update jobs set media_expires_at = '-infinity' where queue_id = any ($1)`, [stuck]);
  await query(`update jobs set media_expires_at = now() - interval '1 hour' where queue_id = $1`, [last]);
  const isStuck = (key: string) => stuck.some((id) => key.includes(id));
  expect(await perform('reconcileJobs', isStuck)).toEqual({ done: 1 });
  expect(await readJob(world.ledger.pool, last)).toMatchObject({ state: 'expired' });
  await query('delete from jobs where queue_id = any ($1)', [stuck]);
});

it('resumes a payment whose workflow is lost behind more than a page of payments with a workflow', async () => {
  const accountId = await world.account();
  await query(
    `insert into top_ups (id, network, asset, payer_family, payer, nonce, account_id, terms, amount, decimals, payment,
         request_id, changed_at)
       select id, 'eip155:1', 'asset', 'evm', 'payer', 'nonce ' || place, $2, repeat('0', 64), 5, 6, '{}', 'request',
         now() - interval '2 hours' + place * interval '1 microsecond'
       from unnest($1::text[]) with ordinality as t (id, place)`,
    [Array.from({ length: CROWD + 1 }, (_, index) => topUpId(index)), accountId],
  );
  expect(await perform('reconcileTopUps')).toEqual({ done: 1 });
  expect(started).toEqual([LOST]);
});

it('delivers an event behind more than a page of events that cannot be delivered', async () => {
  const accountId = await world.account();
  const stuck = await world.jobs(accountId, CROWD);
  const [last = ''] = await world.jobs(accountId, 1);
  for (const [ids, ago] of [
    [stuck, '2 hours'],
    [[last], '1 hour'],
  ] as const) {
    await query(
      `insert into job_webhooks (queue_id, account_id, url, events, created_at)
         select id, $2, 'http://127.0.0.1/hook', '{job.failed}', now() - $3::interval from unnest($1::uuid[]) id`,
      [ids, accountId, ago],
    );
    await query(
      `insert into job_events (queue_id, event, at)
         select id, 'failed', now() - interval '10 minutes' from unnest($1::uuid[]) id`,
      [ids],
    );
  }
  expect(await perform('tellUntold', (id) => stuck.includes(id))).toEqual({ done: 1 });
  expect(started).toEqual([last]);
  const failed = lines.filter(({ level }) => level === 'error').map(({ fields }) => fields.queueId);
  expect(new Set(failed)).toEqual(new Set(stuck));
});

it('makes missing partitions once', async () => {
  await query(`drop table audit_events_${monthAhead(3)}`, []);
  expect(await perform('preparePartitions')).toEqual({ done: 1 });
  expect(await perform('preparePartitions')).toEqual({ done: 0 });
});

/** Returns the suffix of a partition's name, such as `2026_01`. */
function monthAhead(months: number): string {
  const now = new Date();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months));
  return month.toISOString().slice(0, 7).replace('-', '_');
}

it('a purge goes on until nothing is left, however much there is', async () => {
  await query(
    `insert into closed_orders (queue_id, closed_at)
       select gen_random_uuid(), now() - interval '2 days' from generate_series(1, 100501)`,
    [],
  );
  expect(await perform('purgeIdempotencyKeys')).toEqual({ done: 100_501 });
});

it('purges its tables page by page in turns, so that an endless one does not block the others', async () => {
  const tables: string[] = [];
  const query = async (text: string, values: number[]) => {
    const table = /from (\w+)/.exec(text)?.[1] ?? '';
    tables.push(table);
    // New keys never end here, so the duty reaches its own time limit first.
    if (tables.filter((each) => each === 'idempotency_keys').length > 3) throw new Error('out of time');
    return { rowCount: table === 'idempotency_keys' ? values.at(-1) : 0 };
  };
  const given = { pool: { query } } as unknown as ActivityDependencies;
  const run = new MockActivityEnvironment().run(() => performDuty(given, 'purgeIdempotencyKeys'));
  await expect(run).rejects.toThrow('out of time');
  expect([...new Set(tables)].sort()).toEqual([
    ...['cloned_voices', 'closed_orders', 'idempotency_keys', 'rpc_answers'],
  ]);
});

function topUpId(index: number): string {
  return `x402-${index.toString(16).padStart(32, '0')}`;
}
