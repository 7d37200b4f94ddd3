/** The queries of the usage history, and the protection of its rows. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signingKey } from '../../../infra/postgres/signingKey.ts';
import { argumentsOf, entriesOf, type UsageRange, type UsageStep } from '../../../infra/postgres/usageHistory.ts';
import { createLedgerWorld, type LedgerWorld } from './ledgerWorld.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(() => world.close());

interface Plan {
  'Node Type': string;
  'Actual Rows': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

function flat(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(flat)];
}

function sumOf(nodes: Plan[], field: 'Actual Rows' | 'Rows Removed by Filter'): number {
  return nodes.reduce((sum, node) => sum + (node[field] ?? 0), 0);
}

describe('a page of a large account', () => {
  const COUNT = 60_000;
  /** An entry per second from eight hours before this month: they lie in two partitions. */
  const now = new Date();
  const MONTH_MS = Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  const START_MS = MONTH_MS - 8 * 3_600_000;
  const atSecond = (second: number, fromMs = START_MS) =>
    new Date(fromMs + second * 1_000).toISOString().replace('Z', '000Z');
  let accountId: string;
  beforeAll(async () => {
    accountId = await world.account();
    await world.owner.query(
      `insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
       select $3::timestamptz + n * interval '1 second', 'n' || n, 'charge', $1::uuid, 'revenue',
         case when n % 20000 = 0 then 'bundled' else 'usd' end, -n, '2026-03-01', '{"sku": "x", "units": "1"}'
       from generate_series(1, $2::int) n`,
      [accountId, COUNT, atSecond(0)],
    );
    await world.owner.query('analyze transfers');
  });

  it.each<[string, Partial<UsageRange>, number]>([
    ['at the start', {}, 101],
    ['in the middle', { from: atSecond(10_000) }, 101],
    ['across the end of a month', { from: atSecond(-50, MONTH_MS) }, 101],
    ['of a range', { from: atSecond(10_000), to: atSecond(10_030) }, 30],
    ['of a range across the end of a month', { from: atSecond(-10, MONTH_MS), to: atSecond(20, MONTH_MS) }, 30],
    ['of a currency', { currency: 'usd' }, 101],
    ['of a currency that hardly occurs', { currency: 'bundled' }, 3],
  ])('%s reads no more rows than it shows, in index order', async (_name, more, rows) => {
    const range: UsageRange = { accountId, from: null, to: null, currency: null, ...more };
    const step: UsageStep = { horizon: String(2n ** 40n), after: null, limit: 101 };
    const client = await world.pool.connect();
    try {
      // The generic plan, which serves every later page.
      await client.query('set plan_cache_mode = force_generic_plan');
      await client.query(`prepare page as select * ${entriesOf(range)}`);
      const values = argumentsOf(range, step).map((value) => pg.escapeLiteral(String(value)));
      const { rows: answer } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
        `explain (analyze, format json) execute page (${values.join(', ')})`,
      );
      const [page, result, append, ...scans] = flat(answer[0]?.['QUERY PLAN'][0]?.Plan as Plan);
      const types = [page, result, append].map((node) => node?.['Node Type']);
      expect(types).toEqual(['Limit', 'Result', 'Append']);
      expect(new Set(scans.map((node) => node['Node Type']))).toEqual(new Set(['Index Scan']));
      expect([page?.['Actual Rows'], sumOf(scans, 'Actual Rows')]).toEqual([rows, rows]);
      expect(sumOf(scans, 'Rows Removed by Filter')).toBe(0);
    } finally {
      await client.query('deallocate all; reset plan_cache_mode');
      client.release();
    }
  });
});

describe('the key that signs cursors', () => {
  it('has 32 bytes, which the services can read but not change', async () => {
    const key = await signingKey(world.pool);
    expect([key.length, await signingKey(world.pool)]).toEqual([32, key]);
    for (const change of [
      "update signing_key set key = sha256('x')",
      'delete from signing_key',
      "insert into signing_key (one, key) values (false, sha256('x'))",
    ])
      await expect(world.pool.query(change)).rejects.toMatchObject({ code: '42501' });
  });
});

describe('the usage entries', () => {
  it.each(['delete from usage_entries', "update usage_entries set operation_id = 'x'"])(
    "cannot be changed by the services' role: %s",
    async (change) => {
      await expect(world.pool.query(change)).rejects.toMatchObject({ code: '55000' });
    },
  );
});
