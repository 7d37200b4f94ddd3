import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLedger } from '../../../infra/postgres/createLedger.ts';
import { adjust, balanceOf, charge, refund, topUp } from '../../../infra/postgres/ledger.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { bill, history, payer, SOLD, toNano, type UsageEntry, walk } from './usageWorld.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);

describe('an entry', () => {
  it('of a charge has exactly the documented fields', async () => {
    const { secret, ...who } = await payer(api);
    const requestId = await bill(api, who, 100_000_000n, {
      promptTokens: 12,
      completionTokens: 0,
      inferenceExecutionTime: 345,
    });
    expect(await history(api, secret)).toStrictEqual({
      data: [
        {
          timestamp: TIME,
          sku: SOLD.sku,
          units: 2,
          unit: 2,
          pricePerUnitUsd: 0.05,
          amount: 0.1,
          currency: 'USD',
          notes: 'API Inference',
          inferenceDetails: {
            requestId,
            promptTokens: 12,
            completionTokens: 0,
            inferenceExecutionTime: 345,
          },
        },
      ],
      nextCursor: null,
    });
  });

  it('of a refund follows its charge, with a negative amount and its reason', async () => {
    const { secret, ...who } = await payer(api);
    const whole = await bill(api, who, 100_000_000n);
    const part = await bill(api, who, 100_000_000n);
    const { sql } = api.opened.dependencies.core;
    await refund(sql, { operationId: whole, chargeOperationId: whole, reason: 'provider_failed' });
    const amount = { usd: 30_000_000n, diem: 30_000_000n };
    await refund(sql, { operationId: `${part}:back`, chargeOperationId: part, reason: 'shorter', amount });
    const { data } = await history(api, secret);
    const brief = data.map(({ sku, units, amount, notes, inferenceDetails }) => [
      sku,
      units,
      amount,
      notes,
      inferenceDetails?.requestId,
    ]);
    expect(brief).toEqual([
      [SOLD.sku, 2, 0.1, 'API Inference', whole],
      [SOLD.sku, 2, 0.1, 'API Inference', part],
      [SOLD.sku, -2, -0.1, 'Refund: provider_failed', whole],
      [SOLD.sku, 0, -0.03, 'Refund: shorter', part],
    ]);
  });

  it('of a held charge has its final price, and so has its refund', async () => {
    const { secret, ...who } = await payer(api);
    const { sql } = api.opened.dependencies.core;
    const ledger = createLedger(sql);
    const price = { usd: 90n, diem: 90n };
    const held = { ...who, operationId: randomUUID(), price, ttlMs: 60_000, snapshot: SOLD };
    await ledger.hold(held);
    await bill(api, who, 5n);
    const { operationId } = held;
    await ledger.settle({ operationId, price: { usd: 7n, diem: 7n }, snapshot: { units: '0.25' } });
    await refund(sql, { operationId, chargeOperationId: operationId, reason: 'x' });
    await ledger.close();
    const { data } = await history(api, secret);
    expect(data.map(({ units, amount }) => [units, amount])).toEqual([
      [2, 5e-9],
      [0.25, 7e-9],
      [-0.25, -7e-9],
    ]);
  });

  it('without a request id has no inference details, and odd snapshots do no harm', async () => {
    const { secret, ...who } = await payer(api);
    const odd = { requestId: undefined, units: '1e5', pricePerUnitUsd: '-3', promptTokens: -1 };
    await bill(api, who, 1n, odd as unknown as Partial<typeof SOLD>);
    const { data } = await history(api, secret);
    expect(data).toMatchObject([{ units: 0, pricePerUnitUsd: 0, amount: 1e-9, inferenceDetails: null }]);
  });

  it('does not exist for incoming credit, open holds and released holds', async () => {
    const { secret, ...who } = await payer(api, { usd: 500n, bundled: 20n, diem: 30n });
    const { sql } = api.opened.dependencies.core;
    const credit = { accountId: who.accountId, currency: 'usd' as const, notes: 'x' };
    await topUp(sql, { ...credit, operationId: randomUUID(), amount: 30n });
    await adjust(sql, { ...credit, operationId: randomUUID(), amount: -3n });
    const ledger = createLedger(sql);
    const hold = () => ({
      ...who,
      operationId: randomUUID(),
      price: { usd: 5n, diem: 5n },
      ttlMs: 60_000,
      snapshot: SOLD,
    });
    const [kept, released] = [hold(), hold()];
    await ledger.hold(kept);
    await ledger.hold(released);
    await ledger.release({ operationId: released.operationId });
    await ledger.close();
    expect(await history(api, secret)).toEqual({ data: [], nextCursor: null });
  });
});

/** Random numbers that a seed reproduces (mulberry32). */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

describe('the sums of all entries', () => {
  it.each([1, 2, 3])('equal the payments to the nano in each currency (seed %i)', async (seed) => {
    const roll = dice(seed);
    const funds = { usd: 90_071_992_547n, bundled: 8_123_456_789n, diem: 6_000_000_001n };
    const { secret, ...who } = await payer(api, funds);
    const { sql } = api.opened.dependencies.core;
    const ledger = createLedger(sql);
    for (let turn = 0; turn < 60; turn += 1) {
      const operationId = randomUUID();
      const price = { usd: BigInt(1 + roll(2_000_000_000)), diem: BigInt(1 + roll(2_000_000_000)) };
      const order = { ...who, operationId, price, snapshot: SOLD };
      if (roll(2) === 0) await charge(sql, order);
      else {
        await ledger.hold({ ...order, ttlMs: 60_000 });
        const less = { usd: price.usd / 3n, diem: price.diem / 2n };
        await (roll(4) === 0 ? ledger.release({ operationId }) : ledger.settle({ operationId, price: less }));
      }
      if (roll(3) > 0) continue;
      const amount = { usd: price.usd / 7n, diem: price.diem / 7n };
      const back = { operationId, chargeOperationId: operationId, reason: 'x' };
      await refund(sql, roll(2) === 0 ? back : { ...back, amount });
    }
    await ledger.close();
    const entries = await walk(api, secret, '?pageSize=17');
    const sum = (currency: UsageEntry['currency']) =>
      entries.filter((entry) => entry.currency === currency).reduce((total, { amount }) => total + toNano(amount), 0n);
    const balance = await balanceOf(sql, who.accountId);
    expect({ usd: sum('USD'), bundled: sum('BUNDLED_CREDITS'), diem: sum('DIEM') }).toEqual({
      usd: funds.usd - (balance?.usd ?? 0n),
      bundled: funds.bundled - (balance?.bundled ?? 0n),
      diem: funds.diem - (balance?.diem ?? 0n),
    });
    expect(new Set(entries.map((entry) => entry.currency)).size).toBe(3);
  });
});

describe('a pass over all pages', () => {
  it('while writers commit has every entry from before its start once and in order, and no duplicates', async () => {
    const { secret, ...who } = await payer(api);
    const done: string[] = [];
    let started = 0;
    const write = async () => {
      while (started < 300) {
        started += 1;
        done.push(await bill(api, who, 3n));
      }
    };
    const walks: { before: string[]; seen: (string | undefined)[] }[] = [];
    let writing = true;
    const writers = Promise.all(Array.from({ length: 8 }, write)).finally(() => {
      writing = false;
    });
    do {
      const before = [...done];
      const entries = await walk(api, secret, '?pageSize=29');
      walks.push({ before, seen: entries.map((entry) => entry.inferenceDetails?.requestId) });
    } while (writing);
    await writers;
    const all = (await walk(api, secret, '')).map((entry) => entry.inferenceDetails?.requestId);
    expect(all).toHaveLength(done.length);
    for (const { before, seen } of walks) {
      expect(seen).toEqual(all.slice(0, seen.length));
      expect(before.filter((id) => !seen.includes(id))).toEqual([]);
    }
  });

  it('whose clock is set back keeps to the entries from its start', async () => {
    const { secret, ...who } = await payer(api);
    const owner = new pg.Client({ connectionString: api.environment.DATABASE_URL });
    await owner.connect();
    const setClock = (expression: string) =>
      owner.query(
        `create or replace function ledger_now() returns timestamptz language sql volatile as $$ select ${expression} $$`,
      );
    try {
      for (let count = 0; count < 15; count += 1) await bill(api, who, 1n);
      await setClock(`clock_timestamp() - interval '1 hour'`);
      const late = await bill(api, who, 2n);
      const entries = await walk(api, secret, '?pageSize=10', async () => {
        await bill(api, who, 4n);
      });
      expect(entries.map(({ amount }) => toNano(amount))).toEqual([2n, ...Array(15).fill(1n)]);
      expect(entries[0]?.inferenceDetails?.requestId).toBe(late);
      expect(await walk(api, secret, '')).toHaveLength(17);
    } finally {
      await setClock('clock_timestamp()');
      await owner.end();
    }
  });

  it('by currency and time returns matching entries, including the start and excluding the end', async () => {
    const { secret, ...who } = await payer(api, { usd: 500n, diem: 25n });
    for (let count = 0; count < 12; count += 1) await bill(api, who, 10n);
    const all = await walk(api, secret, '?pageSize=10');
    expect(all.map(({ currency, amount }) => [currency, toNano(amount)])).toEqual([
      ['DIEM', 10n],
      ['DIEM', 10n],
      ['DIEM', 5n],
      ['USD', 5n],
      ...Array(9).fill(['USD', 10n]),
    ]);
    expect(await walk(api, secret, '?currency=USD&pageSize=10')).toEqual(all.slice(3));
    expect(await walk(api, secret, '?currency=DIEM')).toEqual(all.slice(0, 3));
    expect(await walk(api, secret, '?currency=BUNDLED_CREDITS')).toEqual([]);
    const [start, end] = [all[5]?.timestamp, all[8]?.timestamp];
    expect(await walk(api, secret, `?startTimestamp=${start}`)).toEqual(all.slice(5));
    expect(await walk(api, secret, `?startTimestamp=${start}&endTimestamp=${end}`)).toEqual(all.slice(5, 8));
    const within = `?startTimestamp=${start}&currency=DIEM&endTimestamp=9999-12-31T23:59:59.999999999Z`;
    expect(await walk(api, secret, within)).toEqual([]);
  });

  it('has pages of the requested size and no cursor on the last, also when that is full', async () => {
    const { secret, ...who } = await payer(api);
    for (let count = 0; count < 20; count += 1) await bill(api, who, 1n);
    const first = await history(api, secret, '?pageSize=10');
    expect([first.data.length, first.nextCursor]).toEqual([10, expect.stringMatching(/^[A-Za-z0-9_-]{1,512}$/)]);
    const second = await history(api, secret, `?cursor=${first.nextCursor}`);
    expect([second.data.length, second.nextCursor]).toEqual([10, null]);
  });

  it('shows an account no entries of another', async () => {
    const [one, other] = [await payer(api), await payer(api)];
    await bill(api, one, 1n);
    expect((await history(api, other.secret)).data).toEqual([]);
  });
});
