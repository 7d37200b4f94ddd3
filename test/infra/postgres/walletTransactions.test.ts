/** A page of a wallet's transactions costs what it shows, however much lies before it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { charge, refund } from '../../../infra/postgres/ledger.ts';
import { inTransaction } from '../../../infra/postgres/pool.ts';
import { walletTransactions } from '../../../infra/postgres/walletTransactions.ts';
import { both, createLedgerWorld, type LedgerWorld, order, SNAPSHOT } from './ledgerWorld.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(() => world.close());

/** An account with this many charges of 700 nano units, older than anything else of it. */
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

/** Rows of the transfers that the first page of an account makes Postgres read. */
async function rowsReadFor(accountId: string): Promise<number> {
  return await inTransaction(world.pool, async (client) => {
    const page = await walletTransactions(client, { accountId, limit: 51, offset: 0 });
    expect(page).toHaveLength(51);
    const { rows } = await client.query(
      `select pg_stat_get_xact_tuples_returned('transfers'::regclass)
        + pg_stat_get_xact_tuples_fetched('transfers'::regclass) as read`,
    );
    return Number(rows[0].read);
  });
}

describe('the transactions of a wallet', () => {
  it('are read as far as they are shown: as many rows of 30,000 as of 300', async () => {
    const [few, many] = [await spender(300), await spender(30_000)];
    await world.owner.query('vacuum (analyze) transfers');
    const read = await rowsReadFor(many);
    expect(read).toBeLessThan(200);
    expect(await rowsReadFor(few)).toBeLessThanOrEqual(Math.max(read, 300));
  });

  it('have the balance after each, and one row for the refunds of a request, on every page', async () => {
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
    expect(all.filter(({ type }) => type === 'REFUND').map(({ amountNano }) => amountNano)).toEqual([
      12n,
      12n,
    ]);
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
