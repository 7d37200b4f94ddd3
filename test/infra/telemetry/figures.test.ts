/** Metrics that are queried from the database and from Temporal, also when these do not answer. */
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLedger } from '../../../infra/postgres/createLedger.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import { createGaugeProbe } from '../../../infra/telemetry/createGaugeProbe.ts';
import { registerLedgerMetrics } from '../../../infra/telemetry/ledgerMetrics.ts';
import { registerQueueMetrics } from '../../../infra/telemetry/queueMetrics.ts';
import { openTemporal } from '../../../infra/temporal/connect.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from '../postgres/ledgerWorld.ts';
import { seriesValue } from './seriesValue.ts';

const NOWHERE = { databaseUrl: 'postgres://nobody@127.0.0.1:1/none', applicationName: 'test' };

describe('metrics of the database', () => {
  let world: LedgerWorld;
  beforeAll(async () => {
    world = await createLedgerWorld();
  });
  afterAll(() => world?.close());

  test('count the open holds, and show the age of the oldest', async () => {
    const registry = new Registry();
    registerLedgerMetrics(registry, world.pool);
    const ledger = createLedger(world.pool);
    const account = await world.account({ usd: 10n });
    await ledger.hold({ ...order(account, both(1n)), ttlMs: 60_000 });
    const text = await registry.metrics();
    expect(seriesValue(text, 'farebox_holds_open')).toBe(1);
    expect(seriesValue(text, 'farebox_holds_oldest_seconds')).toBeGreaterThan(0);
    await ledger.hold({ ...order(account, both(1n)), ttlMs: 60_000 });
    // A second scrape within a moment does not query the database.
    expect(seriesValue(await registry.metrics(), 'farebox_holds_open')).toBe(1);
  });

  test('count a job as overdue when it runs minutes after its deadline', async () => {
    const account = await world.account();
    await world.owner.query(
      `insert into jobs (queue_id, account_id, kind, model_id, provider, state, request_id, price_usd_nano,
           charge_operation_id, charge_id, deadline_at)
         select id, $1, 'audio', 'model', 'provider', 'accepted', 'request', 1, id, 'charge', deadline
         from (values (gen_random_uuid(), now() - interval '6 minutes'), (gen_random_uuid(), now() - interval '4 minutes'))
           as due (id, deadline)`,
      [account],
    );
    const registry = new Registry();
    registerLedgerMetrics(registry, world.pool);
    const labels = { model: 'model', state: 'accepted' };
    const text = await registry.metrics();
    expect(seriesValue(text, 'farebox_jobs_overdue', labels)).toBe(1);
    expect(seriesValue(text, 'farebox_jobs_running', labels)).toBe(2);
  });

  test('are left out of the scrape when the database does not answer', async () => {
    const registry = new Registry();
    const pool = openPool(NOWHERE);
    registerLedgerMetrics(registry, pool);
    const text = await registry.metrics();
    expect(seriesValue(text, 'farebox_database_figures_readable')).toBe(0);
    expect(text).not.toMatch(/^farebox_(holds|jobs)/m);
    await pool.end();
  });
});

describe('metrics of the queues', () => {
  test('are left out of the scrape when the server does not answer', async () => {
    const registry = new Registry();
    const temporal = openTemporal({ address: '127.0.0.1:1', namespace: 'default', retries: 'none' });
    registerQueueMetrics(registry, temporal);
    expect(await registry.metrics()).not.toMatch(/^farebox_queue/m);
    await temporal.close();
  });
});

describe('a query for metrics', () => {
  test('without a timely answer hides the old values, is not sent twice, and shows its late answer', async () => {
    let shown: string | undefined = 'old';
    let asked = 0;
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const refresh = createGaugeProbe({
      everyMs: 0,
      deadlineMs: 20,
      ask: async () => {
        asked += 1;
        await answered;
        return 'new';
      },
      show: (answer) => {
        shown = answer;
      },
      hide: () => {
        shown = undefined;
      },
    });
    await Promise.all([refresh(), refresh()]);
    await refresh();
    expect({ shown, asked }).toEqual({ shown: undefined, asked: 1 });
    answer();
    await expect.poll(() => shown).toBe('new');
  });
});
