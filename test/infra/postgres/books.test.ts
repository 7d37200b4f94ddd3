/** Outcomes of the ledger, the entries that readers see, and the books agree, also under concurrent writes. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Part } from '../../../domain/ledger.ts';
import { adjust, charge, grant, refund } from '../../../infra/postgres/ledger.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';
import { longRun } from './longRun.ts';
import { payIn } from './payIn.ts';

const ROUNDS = longRun(400, 5_000);

let world: LedgerWorld;
beforeEach(async () => {
  world = await createLedgerWorld(12);
});
afterEach(async () => {
  await world.expectSound();
  await world.close();
});

/** Sums of the reported outcomes, per currency. */
class Tally {
  readonly sums: Record<string, bigint> = { usd: 0n, bundled: 0n, diem: 0n };

  add(parts: Part[], sign: bigint): void {
    for (const { currency, amount } of parts) this.sums[currency] = (this.sums[currency] ?? 0n) + sign * amount;
  }
}

const anyPrice = () => ({
  usd: BigInt(Math.ceil(Math.random() * 12)),
  diem: BigInt(Math.ceil(Math.random() * 12)),
});

/** Runs one random call and adds its reported outcome to the tally. */
async function act(account: string, keyId: string, tally: Tally): Promise<void> {
  const request = order(account, anyPrice(), { keyId });
  const { operationId } = request;
  if (Math.random() < 0.5) {
    const charged = await charge(world.pool, request);
    if (charged.outcome !== 'charged') return;
    tally.add(charged.parts, -1n);
    if (Math.random() < 0.5) return;
    const amount = Math.random() < 0.5 ? { amount: anyPrice() } : {};
    const back = await refund(world.pool, {
      operationId,
      chargeOperationId: operationId,
      reason: 'x',
      ...amount,
    });
    if (back.outcome === 'refunded') tally.add(back.parts, 1n);
    return;
  }
  const ledger = ledgers[Math.floor(Math.random() * ledgers.length)];
  if (!ledger) return;
  const held = await ledger.hold({ ...request, ttlMs: 60_000 });
  if (held.outcome !== 'held') return;
  const ended = await (Math.random() < 0.2
    ? ledger.release({ operationId })
    : ledger.settle({ operationId, price: anyPrice() }));
  if (ended.outcome !== 'no_hold') tally.add(ended.parts, -1n);
}

let ledgers: ReturnType<LedgerWorld['ledger']>[] = [];

describe('the sum of the reported outcomes', () => {
  it('equals the balance to the last nano unit under concurrent writes', async () => {
    ledgers = [world.ledger(), world.ledger({ maxBatch: 3, maxInFlight: 3 })];
    const funds = { usd: 2_000n, bundled: 300n, diem: 250n };
    const accounts = await Promise.all([1, 2, 3].map(() => world.account(funds)));
    const keys = await Promise.all(accounts.map((account) => world.key(account, { usd: 1_500n, period: 'MONTH' })));
    const tallies = accounts.map(() => new Tally());
    let next = 0;
    const lane = async () => {
      for (let number = next++; number < ROUNDS; number = next++) {
        const which = number % accounts.length;
        await act(accounts[which] ?? '', keys[which] ?? '', tallies[which] ?? new Tally());
      }
    };
    await Promise.all(Array.from({ length: 40 }, lane));
    for (const [which, account] of accounts.entries()) {
      const { sums } = tallies[which] ?? new Tally();
      expect(await world.balance(account)).toMatchObject({
        usd: funds.usd + (sums.usd ?? 0n),
        bundled: funds.bundled + (sums.bundled ?? 0n),
        diem: funds.diem + (sums.diem ?? 0n),
        held: { usd: 0n, bundled: 0n, diem: 0n },
      });
    }
  });
});

describe("a reader of an account's transfers", () => {
  it('that pages by time and id during writes misses none and sees none twice', async () => {
    ledgers = [world.ledger(), world.ledger({ maxBatch: 1, maxInFlight: 4 })];
    const account = await world.account({ usd: 1_000_000n });
    const keyId = await world.key(account);
    let moving = true;
    const movers = Array.from({ length: 24 }, async () => {
      while (moving) await act(account, keyId, new Tally());
    });
    const seen: string[] = [];
    let last = { at: '-infinity', id: '0' };
    const page = async () => {
      const { rows } = await world.pool.query<{ at: string; id: string }>(
        `select created_at::text as at, id from transfers
         where account_id = $1 and (created_at, id) > ($2::timestamptz, $3::bigint)
         order by created_at, id limit 20`,
        [account, last.at, last.id],
      );
      seen.push(...rows.map((row) => row.id));
      last = rows.at(-1) ?? last;
      return rows.length;
    };
    const until = performance.now() + longRun(1_500, 20_000);
    while (performance.now() < until || seen.length <= 50) await page();
    moving = false;
    await Promise.all(movers);
    while ((await page()) > 0);
    const { rows } = await world.owner.query<{ id: string }>(
      'select id from transfers where account_id = $1 order by id',
      [account],
    );
    expect(seen).toEqual(rows.map((row) => row.id));
  });
});

describe('the house accounts', () => {
  it('hold the charges less the refunds as revenue, and the grants and top-ups as negative amounts', async () => {
    const account = await world.account({ usd: 100n, bundled: 50n, diem: 20n });
    const credit = { accountId: account, currency: 'usd' as const, notes: 'x' };
    await payIn(world.pool, '30');
    await grant(world.pool, { ...credit, currency: 'vcu', operationId: randomUUID(), amount: 5n });
    await adjust(world.pool, { ...credit, operationId: randomUUID(), amount: -7n });
    const kept = order(account, both(60n));
    const undone = order(account, both(15n));
    await charge(world.pool, kept);
    await charge(world.pool, undone);
    const { operationId } = undone;
    await refund(world.pool, { operationId, chargeOperationId: operationId, reason: 'x', amount: both(4n) });
    const { rows } = await world.owner.query(
      `select house, currency, sum(amount)::int as amount from entries where side = 'house'
       group by house, currency order by house, currency`,
    );
    expect(rows).toEqual([
      { house: 'adjustments', currency: 'usd', amount: 7 },
      { house: 'issuance', currency: 'bundled', amount: -50 },
      { house: 'issuance', currency: 'diem', amount: -20 },
      { house: 'issuance', currency: 'usd', amount: -100 },
      { house: 'issuance', currency: 'vcu', amount: -5 },
      { house: 'payments', currency: 'usd', amount: -30_000 },
      // 60 = 20 diem + 40 bundled; 15 = 10 bundled + 5 usd, of which 4 usd came back.
      { house: 'revenue', currency: 'bundled', amount: 50 },
      { house: 'revenue', currency: 'diem', amount: 20 },
      { house: 'revenue', currency: 'usd', amount: 1 },
    ]);
  });

  it('and the accounts sum to zero: every entry has its counterpart', async () => {
    const account = await world.account({ usd: 100n, diem: 9n });
    await charge(world.pool, order(account, both(12n)));
    const { rows } = await world.owner.query(
      'select currency, sum(amount)::int as amount from entries group by currency',
    );
    expect(rows.every((row) => row.amount === 0)).toBe(true);
  });
});

describe('an unknown account', () => {
  it('has no funds, and does not delay others in a batch', async () => {
    const ledger = world.ledger();
    const account = await world.account({ usd: 10n });
    const results = await Promise.all(
      [account, randomUUID(), account, randomUUID()].map((accountId) =>
        ledger.hold({ ...order(accountId, both(2n)), ttlMs: 60_000 }),
      ),
    );
    expect(results.map(({ outcome }) => outcome)).toEqual(['held', 'insufficient', 'held', 'insufficient']);
    expect(await world.balance(account)).toMatchObject({ usd: 6n });
  });
});
