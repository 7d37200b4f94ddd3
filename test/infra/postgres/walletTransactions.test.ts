/** A page of a wallet's transactions costs what it shows, whatever the size of the history. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { charge, refund } from '../../../infra/postgres/ledger.ts';
import { TRANSACTIONS, walletTransactions } from '../../../infra/postgres/walletTransactions.ts';
import { both, createLedgerWorld, type LedgerWorld, order, SNAPSHOT } from './ledgerWorld.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(() => world.close());

/** An account with this many charges of 700 nano units, older than its other entries. */
async function spender(charges: number): Promise<string> {
  const account = await world.account({ usd: 10n ** 12n });
  await world.owner.query(
    `with booked as (
      insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
      select now() - interval '1 day' - n * interval '1 second', $1::text || n, 'charge', $1::uuid, 'revenue', 'usd', -700,
        now()::date, jsonb_build_object('requestId', n::text, 'modelId', 'rpc') from generate_series(1, $2::int) n
      returning amount
    ) update accounts set usd_posted = usd_posted + (select sum(amount) from booked) where id = $1::uuid`,
    [account, charges],
  );
  return account;
}

interface PlanNode {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** Rows read by scans of the transfers' partitions, including rows that a filter removed. */
function rowsRead(node: PlanNode): number {
  const isScan = /^transfers/.test(node['Relation Name'] ?? '');
  const each = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0);
  const own = isScan ? each * node['Actual Loops'] : 0;
  return (node.Plans ?? []).reduce((sum, plan) => sum + rowsRead(plan), own);
}

/** Rows of transfers that Postgres reads for the first page of an account. */
async function rowsReadFor(accountId: string): Promise<number> {
  const { rows } = await world.pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (analyze, format json) ${TRANSACTIONS}`,
    [accountId, 51, 0],
  );
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
  if (!plan) throw new Error('no plan');
  expect(plan['Actual Rows']).toBe(51);
  return rowsRead(plan);
}

describe('the transactions of a wallet', () => {
  it('are read as far as they are shown: no more rows for page 1 of 300,000 entries than of 300', async () => {
    const [few, many] = [await spender(300), await spender(300_000)];
    await world.owner.query('vacuum (analyze) transfers');
    const read = await rowsReadFor(many);
    expect(read).toBeGreaterThan(50);
    expect(read).toBeLessThan(200);
    expect(await rowsReadFor(few)).toBeGreaterThanOrEqual(read);
  });

  it('show the balance after each, and one row for the refunds of a request, on every page', async () => {
    const account = await spender(200);
    for (const requestId of ['a', 'b']) {
      for (const amount of [5n, 7n]) {
        const sold = order(account, both(amount), { snapshot: { ...SNAPSHOT, requestId } });
        await charge(world.pool, sold);
        const { operationId } = sold;
        await refund(world.pool, {
          operationId: `${operationId}:r`,
          chargeOperationId: operationId,
          reason: 'x',
        });
      }
    }
    const all = await walletTransactions(world.pool, { accountId: account, limit: 1_000, offset: 0 });
    expect(all.filter(({ type }) => type === 'REFUND').map(({ amountNano }) => amountNano)).toEqual([12n, 12n]);
    expect(all).toHaveLength(200 + 1 + 4 + 2);
    expect(all[0]?.balanceAfterNano).toBe(10n ** 12n - 200n * 700n);
    expect(all.at(-1)?.balanceAfterNano).toBe(-700n);
    const pages = [];
    for (let offset = 0; offset < all.length; offset += 50) {
      pages.push(...(await walletTransactions(world.pool, { accountId: account, limit: 50, offset })));
    }
    expect(pages).toEqual(all);
  });
});
