import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LedgerPrice } from '../../../domain/ledger.ts';
import type { HoldRequest, Ledger } from '../../../infra/postgres/createLedger.ts';
import { expireHolds } from '../../../infra/postgres/holdExpiry.ts';
import { charge, findCharge, refund } from '../../../infra/postgres/ledger.ts';
import { both, createLedgerWorld, type LedgerWorld, order, SNAPSHOT } from './ledgerWorld.ts';

let world: LedgerWorld;
let ledger: Ledger;
beforeAll(async () => {
  world = await createLedgerWorld();
  ledger = world.ledger({ maxInFlight: 1 });
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});

function hold(accountId: string, price: LedgerPrice, more: Partial<HoldRequest> = {}): HoldRequest {
  return { ...order(accountId, price), ttlMs: 60_000, ...more };
}

describe('a hold', () => {
  it('reserves an amount, which its settlement takes', async () => {
    const account = await world.account({ usd: 100n });
    const request = hold(account, both(30n));
    expect(await ledger.hold(request)).toEqual({
      outcome: 'held',
      parts: [{ currency: 'usd', amount: 30n }],
      state: 'held',
      replayed: false,
    });
    expect(await world.balance(account)).toMatchObject({ usd: 70n, held: { usd: 30n } });
    expect(await ledger.settle({ operationId: request.operationId, price: both(20n) })).toEqual({
      outcome: 'settled',
      parts: [{ currency: 'usd', amount: 20n }],
      replayed: false,
    });
    expect(await world.balance(account)).toMatchObject({ usd: 80n, held: { usd: 0n } });
  });

  it('without funds is refused and changes nothing', async () => {
    const account = await world.account({ usd: 10n, bundled: 5n, diem: 5n });
    const request = hold(account, both(21n));
    expect(await ledger.hold(request)).toEqual({ outcome: 'insufficient' });
    expect(await world.balance(account)).toMatchObject({ usd: 10n, bundled: 5n, diem: 5n });
    expect(await findCharge(world.pool, request.operationId)).toBeUndefined();
    const { rows } = await world.owner.query('select 1 from holds where account_id = $1', [account]);
    expect(rows).toEqual([]);
  });

  it('repeated with its operation id returns the first outcome, in the same tick and later', async () => {
    const account = await world.account({ usd: 100n });
    const request = hold(account, both(30n));
    const [first, second] = await Promise.all([ledger.hold(request), ledger.hold({ ...request, price: both(99n) })]);
    expect(first).toMatchObject({ outcome: 'held', replayed: false });
    expect(second).toEqual({ ...first, replayed: true });
    expect(await ledger.hold(request)).toEqual({ ...first, replayed: true });
    expect(await world.balance(account)).toMatchObject({ usd: 70n });
  });

  it('refused twice in the same tick is refused twice', async () => {
    const account = await world.account({ usd: 1n });
    const request = hold(account, both(2n));
    expect(await Promise.all([ledger.hold(request), ledger.hold(request)])).toEqual([
      { outcome: 'insufficient' },
      { outcome: 'insufficient' },
    ]);
  });

  it('repeated after its resolution returns the way it ended', async () => {
    const account = await world.account({ usd: 100n });
    const request = hold(account, both(30n));
    await ledger.hold(request);
    await ledger.settle({ operationId: request.operationId, price: both(1n) });
    expect(await ledger.hold(request)).toEqual({
      outcome: 'held',
      parts: [{ currency: 'usd', amount: 30n }],
      state: 'settled',
      replayed: true,
    });
    expect(await world.balance(account)).toMatchObject({ usd: 99n });
  });

  it('with the id of a direct charge, and a charge with the id of a hold, are conflicts', async () => {
    const account = await world.account({ usd: 100n });
    const request = hold(account, both(10n));
    await charge(world.pool, request);
    await expect(ledger.hold(request)).rejects.toMatchObject({ code: 'conflict' });
    const held = hold(account, both(10n));
    await ledger.hold(held);
    await expect(charge(world.pool, held)).rejects.toMatchObject({ code: 'conflict' });
    expect(await world.balance(account)).toMatchObject({ usd: 80n });
  });

  it.each([
    ['an unknown key', { keyId: randomUUID() }, 'internal'],
    ['a negative price', { price: { usd: -5n, diem: -5n } }, 'internal'],
    ['a malformed account id', { accountId: 'x' }, 'internal'],
    ['an expiry that is no number', { ttlMs: Number.NaN }, 'internal'],
    ['an expiry in the past', { ttlMs: -1 }, 'internal'],
    ['an endless expiry', { ttlMs: Number.MAX_SAFE_INTEGER }, 'internal'],
  ])('with %s fails alone: the others of its tick succeed', async (_name, mistake, code) => {
    const account = await world.account({ usd: 100n });
    const results = await Promise.allSettled([
      ledger.hold(hold(account, both(1n))),
      ledger.hold(hold(account, both(1n), mistake)),
      ledger.hold(hold(account, both(1n))),
    ]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code } });
    expect(await world.balance(account)).toMatchObject({ usd: 98n });
  });

  it('that only the database refuses fails alone too', async () => {
    const account = await world.account({ usd: 100n });
    await world.owner.query("alter table holds add constraint poison check (snapshot ->> 'notes' <> 'poison')");
    const results = await Promise.allSettled([
      ledger.hold(hold(account, both(1n))),
      ledger.hold(hold(account, both(1n), { snapshot: { ...SNAPSHOT, notes: 'poison' } })),
      ledger.hold(hold(account, both(1n))),
    ]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: '23514' } });
    expect(await world.balance(account)).toMatchObject({ usd: 98n });
    await world.owner.query('alter table holds drop constraint poison');
  });

  it('accepts any characters in its id, together with others', async () => {
    const account = await world.account({ usd: 100n });
    const names = ['a "name"', 'back\\slash\\', 'lines\nand\ttabs', '{NULL,null}', 'NULL', ' spaces ', "it's"];
    const requests = names.map((name) =>
      hold(account, both(1n), {
        operationId: `${name}${randomUUID()}`,
        snapshot: { ...SNAPSHOT, notes: `${name} "in" \\ words\n` },
      }),
    );
    await Promise.all(requests.map((request) => ledger.hold(request)));
    const settled = requests.map(({ operationId }) => ledger.settle({ operationId, price: both(1n) }));
    expect(await Promise.all(settled)).toMatchObject(names.map(() => ({ outcome: 'settled' })));
    for (const { operationId, snapshot } of requests) {
      const { rows } = await world.owner.query('select details from transfers where operation_id = $1', [operationId]);
      expect(rows[0]?.details).toEqual(snapshot);
    }
  });

  it('drops characters of its snapshot that cannot be stored', async () => {
    const account = await world.account({ usd: 100n });
    const notes = 'a\u0000b \ud800 c \\u0000 "d" 😀';
    const request = hold(account, both(1n), { snapshot: { ...SNAPSHOT, notes } });
    await ledger.hold(request);
    await ledger.settle({
      operationId: request.operationId,
      price: both(1n),
      snapshot: { units: '1\u0000' },
    });
    const { rows } = await world.owner.query('select details from transfers where operation_id = $1', [
      request.operationId,
    ]);
    expect(rows[0]?.details).toEqual({ ...SNAPSHOT, units: '1', notes: 'ab \ufffd c \\u0000 "d" 😀' });
  });
});

describe('holds of one tick', () => {
  it('are admitted in order of arrival, past those without funds', async () => {
    const account = await world.account({ usd: 10n });
    const prices = [4n, 7n, 5n, 2n, 1n, 1n];
    const outcomes = await Promise.all(prices.map((price) => ledger.hold(hold(account, both(price)))));
    expect(outcomes.map((outcome) => outcome.outcome)).toEqual([
      'held',
      'insufficient',
      'held',
      'insufficient',
      'held',
      'insufficient',
    ]);
    expect(await world.balance(account)).toMatchObject({ usd: 0n, held: { usd: 10n } });
  });

  it('split over the currencies as if made in sequence', async () => {
    const account = await world.account({ diem: 5n, bundled: 4n, usd: 100n });
    const outcomes = await Promise.all([3n, 3n, 3n, 3n].map((price) => ledger.hold(hold(account, both(price)))));
    expect(outcomes.map((outcome) => (outcome.outcome === 'held' ? outcome.parts : []))).toEqual([
      [{ currency: 'diem', amount: 3n }],
      [
        { currency: 'diem', amount: 2n },
        { currency: 'bundled', amount: 1n },
      ],
      [{ currency: 'bundled', amount: 3n }],
      [{ currency: 'usd', amount: 3n }],
    ]);
  });

  it('of several keys of an account count against each key alone and against the balance together', async () => {
    const account = await world.account({ usd: 10n });
    const [one, two] = [await world.key(account, { usd: 4n }), await world.key(account, { usd: 100n })];
    const keys = [one, two, one, two, two, null, null];
    const outcomes = await Promise.all(keys.map((keyId) => ledger.hold(hold(account, both(3n), { keyId }))));
    expect(outcomes.map((outcome) => outcome.outcome)).toEqual([
      'held',
      'held',
      'key_limit',
      'held',
      'insufficient',
      'insufficient',
      'insufficient',
    ]);
  });

  it('of many accounts are decided for each account alone', async () => {
    const accounts = await Promise.all(Array.from({ length: 40 }, () => world.account({ usd: 5n })));
    const requests = Array.from({ length: 240 }, (_, index) => hold(accounts[(index * 7) % 40] ?? '', both(2n)));
    const outcomes = await Promise.all(requests.map((request) => ledger.hold(request)));
    expect(outcomes.filter((outcome) => outcome.outcome === 'held')).toHaveLength(80);
    for (const account of accounts) expect(await world.balance(account)).toMatchObject({ usd: 1n });
  });
});

describe('a settlement', () => {
  it.each<[string, bigint, [bigint, bigint, bigint]]>([
    ['of nothing takes nothing', 0n, [5n, 4n, 100n]],
    ['within the diem part takes diem alone', 4n, [1n, 4n, 100n]],
    ['takes the parts in spending order', 7n, [0n, 2n, 100n]],
    ['of the whole hold takes all of it', 12n, [0n, 0n, 97n]],
    ['of more than the hold takes the rest from what is free', 20n, [0n, 0n, 89n]],
  ])('%s', async (_name, price, [diem, bundled, usd]) => {
    const account = await world.account({ diem: 5n, bundled: 4n, usd: 100n });
    const request = hold(account, both(12n));
    await ledger.hold(request);
    expect(await ledger.settle({ operationId: request.operationId, price: both(price) })).toMatchObject({
      outcome: 'settled',
    });
    expect(await world.balance(account)).toMatchObject({
      diem,
      bundled,
      usd,
      held: { diem: 0n, bundled: 0n, usd: 0n },
    });
  });

  it('with different prices per currency takes the same proportion', async () => {
    const account = await world.account({ diem: 5n, usd: 1_000n });
    const request = hold(account, { usd: 300n, diem: 100n });
    await ledger.hold(request);
    expect(await world.balance(account)).toMatchObject({ diem: 0n, usd: 715n });
    await ledger.settle({ operationId: request.operationId, price: { usd: 30n, diem: 10n } });
    expect(await world.balance(account)).toMatchObject({ diem: 0n, usd: 985n });
  });

  it('merges its own snapshot over the snapshot of the hold', async () => {
    const account = await world.account({ usd: 100n });
    const request = hold(account, both(30n));
    await ledger.hold(request);
    await ledger.settle({
      operationId: request.operationId,
      price: both(20n),
      snapshot: { units: '17', pricePerUnitUsd: '1' },
    });
    const { rows } = await world.owner.query('select details from transfers where operation_id = $1', [
      request.operationId,
    ]);
    expect(rows[0]?.details).toEqual({ ...SNAPSHOT, units: '17', pricePerUnitUsd: '1' });
  });

  it('of an unknown id reports that there is no hold', async () => {
    expect(await ledger.settle({ operationId: randomUUID(), price: both(1n) })).toEqual({
      outcome: 'no_hold',
    });
    expect(await ledger.release({ operationId: randomUUID() })).toEqual({ outcome: 'no_hold' });
  });

  it('happens once, however often and with whatever price it is requested', async () => {
    const account = await world.account({ usd: 100n });
    const { operationId, ...request } = hold(account, both(30n));
    await ledger.hold({ operationId, ...request });
    const parallel = world.ledger({ maxBatch: 1, maxInFlight: 4 });
    const outcomes = await Promise.all([
      ledger.settle({ operationId, price: both(7n) }),
      ledger.release({ operationId }),
      ledger.settle({ operationId, price: both(9n) }),
      parallel.settle({ operationId, price: both(8n) }),
      parallel.release({ operationId }),
    ]);
    const first = outcomes.filter((outcome) => outcome.outcome !== 'no_hold' && !outcome.replayed);
    expect(first).toHaveLength(1);
    const outcomesSeen = new Set(outcomes.map((outcome) => outcome.outcome));
    expect(outcomesSeen.size).toBe(1);
    const taken = first[0]?.outcome === 'settled' ? (first[0].parts[0]?.amount ?? 0n) : 0n;
    expect(await world.balance(account)).toMatchObject({ usd: 100n - taken, held: { usd: 0n } });
  });

  it('can be refunded, but a released hold cannot', async () => {
    const account = await world.account({ usd: 100n });
    const [settled, released] = [hold(account, both(30n)), hold(account, both(30n))];
    await Promise.all([ledger.hold(settled), ledger.hold(released)]);
    const undo = (operationId: string) =>
      refund(world.pool, { operationId: `${operationId}:r`, chargeOperationId: operationId, reason: 'x' });
    expect(await undo(settled.operationId)).toEqual({ outcome: 'no_charge' });
    await ledger.settle({ operationId: settled.operationId, price: both(20n) });
    await ledger.release(released);
    expect(await undo(settled.operationId)).toMatchObject({ parts: [{ currency: 'usd', amount: 20n }] });
    expect(await undo(released.operationId)).toEqual({ outcome: 'no_charge' });
    expect(await world.balance(account)).toMatchObject({ usd: 100n });
  });
});

describe('forgotten holds', () => {
  it('are released when they expire, oldest first, up to the requested number, and not before their time', async () => {
    const own = await createLedgerWorld();
    try {
      await own.setClock('2026-11-21T12:00:00Z');
      const account = await own.account({ usd: 100n });
      const key = await own.key(account, { usd: 100n });
      const holds = [3_000, 1_000, 2_000, 60_000].map((ttlMs) => hold(account, both(10n), { ttlMs, keyId: key }));
      const books = own.ledger();
      for (const request of holds) await books.hold(request);
      expect(await expireHolds(own.pool, 10)).toMatchObject({ expired: 0 });
      await own.setClock('2026-11-21T12:00:10Z');
      expect(await expireHolds(own.pool, 2)).toMatchObject({ expired: 2 });
      const states = async () =>
        Promise.all(holds.map(async ({ operationId }) => (await findCharge(own.pool, operationId))?.state));
      expect(await states()).toEqual(['held', 'expired', 'expired', 'held']);
      expect(await expireHolds(own.pool, 10)).toMatchObject({ expired: 1 });
      expect(await expireHolds(own.pool, 10)).toMatchObject({ expired: 0 });
      expect(await states()).toEqual(['expired', 'expired', 'expired', 'held']);
      expect(await own.balance(account)).toMatchObject({ usd: 90n, held: { usd: 10n } });
      const late = await books.settle({ operationId: holds[0]?.operationId ?? '', price: both(10n) });
      expect(late).toEqual({ outcome: 'expired', parts: [], replayed: true });
      await own.expectSound();
    } finally {
      await own.close();
    }
  });

  it('can still be settled when they have expired but were not swept', async () => {
    const account = await world.account({ usd: 100n });
    const request = hold(account, both(10n), { ttlMs: 1 });
    await ledger.hold(request);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await ledger.settle({ operationId: request.operationId, price: both(4n) })).toMatchObject({
      outcome: 'settled',
    });
  });

  it('that are swept by several sweepers and settled at once end in one way each', async () => {
    const account = await world.account({ usd: 1_000n });
    const requests = Array.from({ length: 60 }, () => hold(account, both(10n), { ttlMs: 1 }));
    await Promise.all(requests.map((request) => ledger.hold(request)));
    await new Promise((resolve) => setTimeout(resolve, 20));
    const settlements = requests.map(({ operationId }) => ledger.settle({ operationId, price: both(10n) }));
    const sweeps = Array.from({ length: 6 }, () => expireHolds(world.pool, 7));
    const swept = (await Promise.all(sweeps)).reduce((sum, { expired }) => sum + expired, 0);
    const outcomes = await Promise.all(settlements);
    const settled = outcomes.filter((outcome) => outcome.outcome === 'settled').length;
    expect(settled + swept).toBe(60);
    expect(await world.balance(account)).toMatchObject({
      usd: 1_000n - BigInt(settled) * 10n,
      held: { usd: 0n },
    });
  });
});
