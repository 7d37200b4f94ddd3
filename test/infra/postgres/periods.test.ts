import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LimitPeriod } from '../../../domain/ledger.ts';
import { charge, refund } from '../../../infra/postgres/ledger.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';

let world: LedgerWorld;
beforeEach(async () => {
  world = await createLedgerWorld();
});
afterEach(async () => {
  await world.expectSound();
  await world.close();
});

async function charged(accountId: string, keyId: string | null, amount: bigint): Promise<string> {
  const outcome = await charge(world.pool, order(accountId, both(amount), { keyId }));
  return outcome.outcome === 'key_limit' ? `key_limit ${outcome.currency}` : outcome.outcome;
}

describe('a key limit', () => {
  it.each<[LimitPeriod, string, string, string]>([
    ['EPOCH', '2026-11-21T00:00:00.000Z', '2026-11-21T23:59:59.999Z', '2026-11-22T00:00:00.000Z'],
    ['EPOCH', '2026-12-31T12:00:00.000Z', '2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z'],
    ['EPOCH', '2024-02-29T00:00:00.000Z', '2024-02-29T23:59:59.999Z', '2024-03-01T00:00:00.000Z'],
    ['MONTH', '2026-11-01T00:00:00.000Z', '2026-11-30T23:59:59.999Z', '2026-12-01T00:00:00.000Z'],
    ['MONTH', '2026-10-01T00:00:00.000Z', '2026-10-31T23:59:59.999Z', '2026-11-01T00:00:00.000Z'],
    ['MONTH', '2026-02-01T00:00:00.000Z', '2026-02-28T23:59:59.999Z', '2026-03-01T00:00:00.000Z'],
    ['MONTH', '2024-02-01T00:00:00.000Z', '2024-02-29T23:59:59.999Z', '2024-03-01T00:00:00.000Z'],
    ['MONTH', '2026-12-31T23:59:59.000Z', '2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z'],
  ])('of %s first used at %s is exhausted at %s and reset at %s', async (period, start, last, next) => {
    const account = await world.account({ usd: 1_000n });
    const key = await world.key(account, { usd: 10n, period });
    await world.setClock(start);
    expect(await charged(account, key, 6n)).toBe('charged');
    await world.setClock(last);
    expect(await charged(account, key, 4n)).toBe('charged');
    expect(await charged(account, key, 1n)).toBe('key_limit usd');
    await world.setClock(next);
    expect(await charged(account, key, 10n)).toBe('charged');
    expect(await charged(account, key, 1n)).toBe('key_limit usd');
  });

  it('of LIFETIME never resets', async () => {
    const account = await world.account({ usd: 1_000n });
    const key = await world.key(account, { usd: 10n, period: 'LIFETIME' });
    await world.setClock('2026-11-21T12:00:00Z');
    expect(await charged(account, key, 6n)).toBe('charged');
    await world.setClock('2031-01-01T00:00:00Z');
    expect(await charged(account, key, 4n)).toBe('charged');
    await world.setClock('2040-02-29T00:00:00Z');
    expect(await charged(account, key, 1n)).toBe('key_limit usd');
  });

  it('lowered below the spending blocks at once, and admits again when raised', async () => {
    const account = await world.account({ usd: 1_000n });
    const key = await world.key(account, { usd: 100n, period: 'MONTH' });
    expect(await charged(account, key, 50n)).toBe('charged');
    await world.setLimits(key, { usd: 20n, period: 'MONTH' });
    expect(await charged(account, key, 1n)).toBe('key_limit usd');
    await world.expectSound();
    await world.setLimits(key, { usd: 51n, period: 'MONTH' });
    expect(await charged(account, key, 2n)).toBe('key_limit usd');
    expect(await charged(account, key, 1n)).toBe('charged');
  });

  it('whose period changes counts what was spent in the new period so far', async () => {
    const account = await world.account({ usd: 1_000n });
    const key = await world.key(account, { usd: 10n, period: 'EPOCH' });
    await world.setClock('2026-11-03T12:00:00Z');
    expect(await charged(account, key, 8n)).toBe('charged');
    await world.setClock('2026-11-04T12:00:00Z');
    expect(await charged(account, key, 1n)).toBe('charged');
    await world.setLimits(key, { usd: 10n, period: 'MONTH' });
    expect(await charged(account, key, 2n)).toBe('key_limit usd');
    expect(await charged(account, key, 1n)).toBe('charged');
    await world.setClock('2026-12-01T00:00:00Z');
    await world.setLimits(key, { usd: 11n, period: 'LIFETIME' });
    expect(await charged(account, key, 2n)).toBe('key_limit usd');
    expect(await charged(account, key, 1n)).toBe('charged');
  });

  it('set on a key with earlier charges counts those', async () => {
    const account = await world.account({ usd: 1_000n });
    const key = await world.key(account);
    expect(await charged(account, key, 50n)).toBe('charged');
    await world.setLimits(key, { usd: 55n });
    expect(await charged(account, key, 6n)).toBe('key_limit usd');
    expect(await charged(account, key, 5n)).toBe('charged');
  });

  it('changes before or after a concurrent admission, never during it', async () => {
    const account = await world.account({ usd: 100_000n });
    const key = await world.key(account, { usd: 100_000n });
    const ledger = world.ledger();
    const holds = Array.from({ length: 400 }, async (_, index) => {
      if (index % 40 === 0) await new Promise((resolve) => setTimeout(resolve, index / 10));
      return ledger.hold({ ...order(account, both(10n), { keyId: key }), ttlMs: 60_000 });
    });
    const changes = Array.from({ length: 20 }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 2));
      await world.setLimits(key, { usd: BigInt(index % 2 === 0 ? 200 : 2_000) });
    });
    await Promise.all([...holds, ...changes]);
    // The I8 check knows when the limit changed, and would find a charge admitted under an outdated limit.
    await world.expectSound();
  });

  it('counts held and settled amounts, and frees what a settlement or release leaves', async () => {
    const account = await world.account({ usd: 1_000n });
    const key = await world.key(account, { usd: 10n });
    const ledger = world.ledger();
    const held = { ...order(account, both(8n), { keyId: key }), ttlMs: 60_000 };
    await ledger.hold(held);
    expect(await charged(account, key, 3n)).toBe('key_limit usd');
    await ledger.settle({ operationId: held.operationId, price: both(5n) });
    expect(await charged(account, key, 3n)).toBe('charged');
    expect(await charged(account, key, 3n)).toBe('key_limit usd');
    const other = { ...order(account, both(2n), { keyId: key }), ttlMs: 60_000 };
    await ledger.hold(other);
    expect(await charged(account, key, 1n)).toBe('key_limit usd');
    await ledger.release(other);
    expect(await charged(account, key, 2n)).toBe('charged');
  });

  it('in diem counts diem only and moves the rest to usd', async () => {
    const account = await world.account({ diem: 100n, usd: 100n });
    const key = await world.key(account, { diem: 6n });
    expect(await charged(account, key, 10n)).toBe('charged');
    expect(await world.balance(account)).toMatchObject({ diem: 94n, usd: 96n });
    expect(await charged(account, key, 10n)).toBe('charged');
    expect(await world.balance(account)).toMatchObject({ diem: 94n, usd: 86n });
  });

  it('in diem lowered below the spending takes no diem, and returns none', async () => {
    const account = await world.account({ diem: 100n, usd: 100n });
    const key = await world.key(account, { diem: 50n });
    expect(await charged(account, key, 20n)).toBe('charged');
    await world.setLimits(key, { diem: 5n });
    expect(await charged(account, key, 10n)).toBe('charged');
    expect(await world.balance(account)).toMatchObject({ diem: 80n, usd: 90n });
  });

  it('in diem is named as the reason if no other currency covers the price', async () => {
    const account = await world.account({ diem: 100n });
    const key = await world.key(account, { diem: 6n });
    expect(await charged(account, key, 7n)).toBe('key_limit diem');
    expect(await charged(account, key, 6n)).toBe('charged');
  });
});

describe('a refund', () => {
  it('counts in the period of its charge, not of today', async () => {
    const account = await world.account({ usd: 1_000n });
    const key = await world.key(account, { usd: 10n, period: 'EPOCH' });
    await world.setClock('2026-11-30T23:59:59Z');
    const request = order(account, both(10n), { keyId: key });
    await charge(world.pool, request);
    await world.setClock('2026-12-01T00:00:01Z');
    expect(await charged(account, key, 10n)).toBe('charged');
    await refund(world.pool, { operationId: 'r', chargeOperationId: request.operationId, reason: 'x' });
    expect(await charged(account, key, 1n)).toBe('key_limit usd');
    await world.setLimits(key, { usd: 11n, period: 'LIFETIME' });
    // It frees a part of a lifetime limit: 10 are spent, not 20.
    expect(await charged(account, key, 1n)).toBe('charged');
    expect(await charged(account, key, 1n)).toBe('key_limit usd');
  });

  it('of diem of a past day is a refund that does not change the diem of today', async () => {
    const account = await world.account({ diem: 10n, usd: 10n });
    await world.setClock('2026-11-21T23:59:59Z');
    const request = order(account, both(14n));
    await charge(world.pool, request);
    expect(await world.balance(account)).toMatchObject({ diem: 0n, usd: 6n });
    await world.setClock('2026-11-22T00:00:01Z');
    await charge(world.pool, order(account, both(3n)));
    const outcome = await refund(world.pool, {
      operationId: 'r',
      chargeOperationId: request.operationId,
      reason: 'x',
    });
    expect(outcome).toMatchObject({
      outcome: 'refunded',
      parts: [
        { currency: 'diem', amount: 10n },
        { currency: 'usd', amount: 4n },
      ],
    });
    expect(await world.balance(account)).toMatchObject({ diem: 7n, usd: 10n });
  });
});

describe('a diem day', () => {
  it('starts with the allocation, without the rest of the day before', async () => {
    const account = await world.account({ diem: 10n });
    await world.setClock('2026-11-21T23:59:59.999Z');
    expect(await charged(account, null, 4n)).toBe('charged');
    expect(await world.balance(account)).toMatchObject({ diem: 6n });
    await world.setClock('2026-11-22T00:00:00.000Z');
    expect(await world.balance(account)).toMatchObject({ diem: 10n });
    expect(await charged(account, null, 10n)).toBe('charged');
    expect(await charged(account, null, 1n)).toBe('insufficient');
  });

  it('keeps its holds: a settlement after midnight takes from the day of the hold', async () => {
    const account = await world.account({ diem: 10n });
    const ledger = world.ledger();
    await world.setClock('2026-11-21T23:59:59.999Z');
    const request = { ...order(account, both(8n)), ttlMs: 60_000 };
    await ledger.hold(request);
    await world.setClock('2026-11-22T00:00:00.000Z');
    expect(await charged(account, null, 9n)).toBe('charged');
    expect(await ledger.settle({ operationId: request.operationId, price: both(5n) })).toMatchObject({
      parts: [{ currency: 'diem', amount: 5n }],
    });
    expect(await world.balance(account)).toMatchObject({ diem: 1n });
    const { rows } = await world.owner.query(
      'select day::text, posted, held from diem_days where account_id = $1 order by day',
      [account],
    );
    expect(rows).toEqual([
      { day: '2026-11-21', posted: '5', held: '0' },
      { day: '2026-11-22', posted: '1', held: '0' },
    ]);
  });

  it('opened by many calls at once is granted once', async () => {
    const account = await world.account({ diem: 100n });
    await world.setClock('2026-11-22T00:00:00Z');
    const batched = world.ledger();
    const single = world.ledger({ maxBatch: 1, maxInFlight: 4 });
    const holds = Array.from({ length: 30 }, (_, index) =>
      (index % 2 === 0 ? batched : single).hold({ ...order(account, both(5n)), ttlMs: 60_000 }),
    );
    const charges = Array.from({ length: 10 }, () => charged(account, null, 5n));
    const admitted = [
      ...(await Promise.all(holds)).filter((outcome) => outcome.outcome === 'held'),
      ...(await Promise.all(charges)).filter((outcome) => outcome === 'charged'),
    ];
    expect(admitted).toHaveLength(20);
    const { rows } = await world.owner.query(
      "select count(*)::int as n, sum(amount) as amount from transfers where account_id = $1 and kind = 'grant'",
      [account],
    );
    expect(rows).toEqual([{ n: 1, amount: '100' }]);
  });

  it('without an allocation is not created', async () => {
    const account = await world.account({ usd: 10n });
    expect(await charged(account, null, 4n)).toBe('charged');
    const { rows } = await world.owner.query('select 1 from diem_days where account_id = $1', [account]);
    expect(rows).toEqual([]);
  });
});
