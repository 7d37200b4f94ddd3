/** Holds and resolutions in one statement: each gets its own answer, and the cost does not grow with the books. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Ledger } from '../../../infra/postgres/createLedger.ts';
import { both, createLedgerWorld, type LedgerWorld, order, SNAPSHOT } from './ledgerWorld.ts';

let world: LedgerWorld;
let ledger: Ledger;
beforeAll(async () => {
  world = await createLedgerWorld();
  ledger = world.ledger();
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});

const hold = (accountId: string, amount: bigint) => {
  return { ...order(accountId, both(amount)), ttlMs: 60_000 };
};

describe('holds and resolutions of the same tick', () => {
  it('share the funds: amounts that one releases can be held by another', async () => {
    const account = await world.account({ usd: 100n });
    const first = hold(account, 100n);
    await ledger.hold(first);
    const [next, settled] = await Promise.all([
      ledger.hold(hold(account, 90n)),
      ledger.settle({ operationId: first.operationId, price: both(10n) }),
    ]);
    expect(settled).toMatchObject({ outcome: 'settled', parts: [{ currency: 'usd', amount: 10n }] });
    expect(next).toMatchObject({ outcome: 'held', parts: [{ currency: 'usd', amount: 90n }] });
    expect(await world.balance(account)).toMatchObject({ usd: 0n, held: { usd: 90n } });
  });

  it('each get their own answer, in any mix', async () => {
    const accounts = await Promise.all(Array.from({ length: 5 }, () => world.account({ usd: 10_000n })));
    const held = Array.from({ length: 40 }, (_, index) => hold(accounts[index % 5] as string, BigInt(index + 1)));
    await Promise.all(held.map((request) => ledger.hold(request)));
    const outcomes = await Promise.all(
      held.flatMap((request, index) => [
        ledger.settle({ operationId: request.operationId, price: both(BigInt(index)) }),
        ledger.hold(hold(request.accountId, BigInt(1_000 + index))),
        ledger.release({ operationId: `unknown ${index}` }),
      ]),
    );
    for (const [index] of held.entries()) {
      const [settled, next, unknown] = outcomes.slice(index * 3);
      const taken = index === 0 ? [] : [{ currency: 'usd', amount: BigInt(index) }];
      expect(settled).toEqual({ outcome: 'settled', parts: taken, replayed: false });
      expect(unknown).toEqual({ outcome: 'no_hold' });
      // Each account can cover only some of its eight holds of more than a thousand.
      if (next?.outcome === 'held') {
        expect(next.parts).toEqual([{ currency: 'usd', amount: BigInt(1_000 + index) }]);
      } else expect(next).toEqual({ outcome: 'insufficient' });
    }
  });

  it('do not fail together with an invalid one', async () => {
    const account = await world.account({ usd: 100n });
    const known = hold(account, 10n);
    await ledger.hold(known);
    const [settled, stranger, next] = await Promise.allSettled([
      ledger.settle({ operationId: known.operationId, price: both(10n) }),
      ledger.hold({ ...hold(account, 1n), keyId: randomUUID() }),
      ledger.hold(hold(account, 90n)),
    ]);
    expect(settled).toMatchObject({ value: { outcome: 'settled' } });
    expect(stranger).toMatchObject({ reason: { code: 'internal' } });
    expect(next).toMatchObject({ value: { outcome: 'held' } });
  });
});

/** Pages that a statement reads, including its functions. */
async function pagesOf(client: pg.Client, statement: string, values: unknown[]): Promise<number> {
  const { rows } = await client.query(`explain (analyze, buffers, format json) ${statement}`, values);
  const plan = rows[0]['QUERY PLAN'][0].Plan;
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

/** Alone, when only usd decides, or as part of a batch. */
const WAYS = {
  single: { hold: 'ledger_hold(', settle: 'ledger_end_holds(' },
  batch: { hold: 'ledger_admit(true, ', settle: 'ledger_resolve(' },
};
type Way = keyof typeof WAYS;

async function pagesOfPair(client: pg.Client, accountId: string, way: Way): Promise<{ hold: number; settle: number }> {
  const { operationId } = hold(accountId, 1n);
  const snapshot = JSON.stringify(SNAPSHOT);
  return {
    hold: await pagesOf(client, `select * from ${WAYS[way].hold}$1, $2, $3, $4, $5, $6, $7)`, [
      ...[[operationId], [accountId], [null], ['1'], ['1'], [60_000], [snapshot]],
    ]),
    settle: await pagesOf(client, `select * from ${WAYS[way].settle}$1, $2, $3, $4, $5)`, [
      ...[[operationId], ['settled'], ['1'], ['1'], [null]],
    ]),
  };
}

describe('a database without statistics', () => {
  it.each<Way>(['single', 'batch'])(
    'has a connection with early plans that read as little after 4,000 operations: %s',
    async (way) => {
      const young = await createLedgerWorld();
      for (const part of [0, 1, 2, 3]) {
        await young.owner.query(`alter table operations_${part} set (autovacuum_enabled = false)`);
      }
      const client = new pg.Client({ connectionString: young.databaseUrl });
      await client.connect();
      const account = await young.account({ usd: 10n ** 9n, ...(way === 'batch' && { diem: 10n ** 9n }) });
      await pagesOfPair(client, account, way);
      const busy = young.ledger();
      await Promise.all(Array.from({ length: 4_000 }, () => busy.hold(hold(account, 1n))));
      // The smallest value counts, because the server may read its catalogue again after other load.
      const pages = [];
      for (let turn = 0; turn < 3; turn += 1) pages.push(await pagesOfPair(client, account, way));
      expect(Math.min(...pages.map((pair) => pair.hold))).toBeLessThan(200);
      expect(Math.min(...pages.map((pair) => pair.settle))).toBeLessThan(200);
      await client.end();
      await young.expectSound();
      await young.close();
    },
  );
});
