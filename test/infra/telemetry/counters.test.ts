/** Counters of the lower floors, by their values before and after. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLedger } from '../../../infra/postgres/createLedger.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import { type Counter, createLimiter } from '../../../infra/redis/limiter.ts';
import { createMetrics } from '../../../infra/telemetry/metrics.ts';
import { services } from '../../harness/services.ts';
import { severable } from '../../harness/severable.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from '../postgres/ledgerWorld.ts';
import { seriesValue } from './seriesValue.ts';

let world: LedgerWorld;
const { registry } = createMetrics('api');
const figure = async (name: string, labels?: Record<string, string>) =>
  seriesValue(await registry.metrics(), name, labels) ?? 0;

beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(() => world?.close());
// Other test files in this process count too.
beforeEach(() => registry.resetMetrics());

test('counts limiter decisions with their limit, the counting place, and whether Redis was down', async () => {
  const decisions = (outcome: string, limit: string, counted: string) =>
    figure('farebox_limiter_decisions_total', { outcome, limit, counted });
  const url = new URL(services().redisUrl);
  const way = await severable(url.host);
  url.host = way.address;
  const redis = new Redis(url.href, { maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  const limiter = createLimiter(redis);
  const admit = async (limit: number) => {
    const counter: Counter = { type: 'RPM', subject: 'model', limit, cost: 1, windowMs: 60_000 };
    const about = { apiKeyId: 'key', modelId: 'model', rateLimitTier: 'paid' };
    await limiter.admit({ accountId: randomUUID(), counters: [counter], about });
  };
  await admit(1);
  await admit(0);
  expect(await figure('farebox_limiter_fallback')).toBe(0);
  way.sever();
  await admit(0);
  expect(await figure('farebox_limiter_fallback')).toBe(1);
  expect(await decisions('admitted', 'none', 'redis')).toBe(1);
  expect(await decisions('refused', 'RPM', 'redis')).toBe(1);
  expect(await decisions('refused', 'RPM', 'process')).toBe(1);
  way.mend();
  await expect.poll(() => admit(1).then(() => figure('farebox_limiter_fallback')), { interval: 200 }).toBe(0);
  expect(await decisions('admitted', 'none', 'redis')).toBeGreaterThan(1);
  redis.disconnect();
  way.close();
});

test('counts a ledger batch once, with its size and duration', async () => {
  const ledger = createLedger(world.pool);
  const account = await world.account({ usd: 100n });
  const hold = () => ledger.hold({ ...order(account, both(1n)), ttlMs: 60_000 });
  await Promise.all(Array.from({ length: 20 }, hold));
  expect(await figure('farebox_ledger_batch_size_sum', { operation: 'hold' })).toBe(20);
  expect(await figure('farebox_ledger_batch_size_count', { operation: 'hold' })).toBe(1);
  const answered = { operation: 'hold', outcome: 'answered' };
  expect(await figure('farebox_ledger_duration_seconds_count', answered)).toBe(1);
});

test('counts failed ledger batches as failed', async () => {
  const pool = openPool({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none', applicationName: 'test' });
  const asked = createLedger(pool, { deadlineMs: 300 }).hold({
    ...order(randomUUID(), both(1n)),
    ttlMs: 60_000,
  });
  await expect(asked).rejects.toThrow();
  const failed = { operation: 'hold', outcome: 'failed' };
  expect(await figure('farebox_ledger_duration_seconds_count', failed)).toBeGreaterThan(0);
  await pool.end();
});
