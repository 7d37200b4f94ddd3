/** A bill above its hold, or after its end: the rest is charged once, as far as funds and limits allow. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LedgerPrice, Part } from '../../../domain/ledger.ts';
import type { Ledger } from '../../../infra/postgres/createLedger.ts';
import { findCharge } from '../../../infra/postgres/ledger.ts';
import { usageHorizon, usagePage } from '../../../infra/postgres/usageHistory.ts';
import { both, createLedgerWorld, type LedgerWorld, SNAPSHOT } from './ledgerWorld.ts';

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

const usd = (amount: bigint): LedgerPrice => ({ usd: amount, diem: 0n });

async function hold(accountId: string, price: LedgerPrice, keyId: string | null = null): Promise<string> {
  const operationId = randomUUID();
  const request = { operationId, accountId, keyId, price, ttlMs: 60_000, snapshot: SNAPSHOT };
  expect(await ledger.hold(request)).toMatchObject({ outcome: 'held' });
  return operationId;
}

const amounts = (parts: Part[]) => Object.fromEntries(parts.map(({ currency, amount }) => [currency, amount]));

interface Case {
  name: string;
  funds: { usd?: bigint; bundled?: bigint; diem?: bigint };
  held: LedgerPrice;
  bill: LedgerPrice;
  limits?: { usd?: bigint; diem?: bigint };
  parentLimits?: { usd?: bigint; diem?: bigint };
  taken: Partial<Record<Part['currency'], bigint>>;
}

const CASES: Case[] = [
  { name: 'the rest in usd', funds: { usd: 100n }, held: usd(10n), bill: usd(35n), taken: { usd: 35n } },
  { name: 'what there is', funds: { usd: 30n }, held: usd(10n), bill: usd(35n), taken: { usd: 30n } },
  {
    ...{ name: 'the hold where nothing else is free', funds: { usd: 10n } },
    ...{ held: usd(10n), bill: usd(35n), taken: { usd: 10n } },
  },
  {
    ...{ name: 'diem, bundled credit and usd in turn', funds: { diem: 8n, bundled: 5n, usd: 100n } },
    ...{ held: both(4n), bill: both(20n), taken: { diem: 8n, bundled: 5n, usd: 7n } },
  },
  {
    ...{ name: 'a rest in proportion where diem is dearer', funds: { diem: 6n, usd: 100n } },
    ...{ held: { usd: 4n, diem: 8n }, bill: { usd: 10n, diem: 20n }, taken: { diem: 6n, usd: 7n } },
  },
  {
    ...{ name: 'diem where nothing is sold for usd', funds: { diem: 6n, usd: 100n } },
    ...{ held: { usd: 0n, diem: 4n }, bill: { usd: 0n, diem: 20n }, taken: { diem: 6n } },
  },
  {
    ...{ name: 'up to the limit of the key', funds: { usd: 100n }, limits: { usd: 25n } },
    ...{ held: usd(10n), bill: usd(35n), taken: { usd: 25n } },
  },
  {
    ...{ name: 'up to the limit of the parent of the key', funds: { usd: 100n } },
    ...{ limits: { usd: 50n }, parentLimits: { usd: 15n } },
    ...{ held: usd(10n), bill: usd(35n), taken: { usd: 15n } },
  },
];

describe.each(CASES)('a bill above its hold takes $name', (each) => {
  const { funds, held, bill, limits, parentLimits, taken } = each;

  async function payer() {
    const accountId = await world.account(funds);
    const parent = parentLimits && (await world.key(accountId, parentLimits));
    const keyId = limits ? await world.key(accountId, limits, parent) : null;
    return { accountId, operationId: await hold(accountId, held, keyId) };
  }

  it('alone and when repeated', async () => {
    const { operationId } = await payer();
    for (const replayed of [false, true, true]) {
      const settled = await ledger.settle({ operationId, price: bill });
      expect(settled).toMatchObject({ outcome: 'settled', replayed });
      expect(amounts('parts' in settled ? settled.parts : [])).toEqual(taken);
    }
    expect(await ledger.release({ operationId })).toMatchObject({ outcome: 'settled', replayed: true });
  });

  it('in a batch, twice, with other bills', async () => {
    const payers = await Promise.all([payer(), payer()]);
    const ids = payers.flatMap(({ operationId }) => [operationId, operationId]);
    const settled = await Promise.all(ids.map((operationId) => ledger.settle({ operationId, price: bill })));
    for (const outcome of settled) {
      expect(amounts('parts' in outcome ? outcome.parts : [])).toEqual(taken);
    }
  });
});

describe('the charge of the rest', () => {
  it('is a row of the same request in the usage history, and is counted once', async () => {
    const accountId = await world.account({ usd: 100n });
    const operationId = await hold(accountId, usd(10n));
    const sold = { units: '35', unit: 'credit', pricePerUnitUsd: '1' };
    const snapshot = { ...sold, promptTokens: 7, notes: 'API Inference' };
    await ledger.settle({ operationId, price: usd(35n), snapshot });
    const { horizon } = await usageHorizon(world.pool, accountId);
    const range = { accountId, from: null, to: null, currency: null };
    const rows = await usagePage(world.pool, range, { horizon, after: null, limit: 10 });
    expect(rows).toMatchObject([
      {
        amountNano: 10n,
        units: '35',
        requestId: SNAPSHOT.requestId,
        promptTokens: 7,
        notes: 'API Inference',
      },
      {
        ...{ amountNano: 25n, units: '0', requestId: SNAPSHOT.requestId, promptTokens: null },
        notes: 'API Inference; beyond the amount held',
      },
    ]);
    const [, rest] = await world.transfersOf(accountId).then((all) => all.slice(-2));
    expect(rest).toMatchObject({ operation_id: `${operationId}:rest`, details: { restOf: operationId } });
  });

  it('can use what the same batch releases', async () => {
    const accountId = await world.account({ usd: 100n });
    const [released, settled] = [await hold(accountId, usd(60n)), await hold(accountId, usd(40n))];
    const outcomes = await Promise.all([
      ledger.release({ operationId: released }),
      ledger.settle({ operationId: settled, price: usd(90n) }),
    ]);
    expect(outcomes[1]).toMatchObject({ parts: [{ currency: 'usd', amount: 90n }] });
    expect(await world.balance(accountId)).toMatchObject({ usd: 10n, held: { usd: 0n } });
  });

  it('belongs to the day of its charge, with the diem of that day', async () => {
    const own = await createLedgerWorld();
    try {
      await own.setClock('2026-11-21T23:59:59Z');
      const accountId = await own.account({ diem: 10n, usd: 100n });
      const books = own.ledger();
      const operationId = randomUUID();
      const price = both(10n);
      await books.hold({ operationId, accountId, keyId: null, price, ttlMs: 60_000, snapshot: SNAPSHOT });
      await own.setClock('2026-11-22T00:00:01Z');
      expect(await books.settle({ operationId, price: both(15n) })).toMatchObject({
        parts: [{ currency: 'diem', amount: 15n }],
      });
      expect(await own.balance(accountId)).toMatchObject({ diem: 5n, usd: 100n });
      await own.expectSound();
    } finally {
      await own.close();
    }
  });

  it('never exceeds the funds of an account with several bills', async () => {
    const accountId = await world.account({ usd: 100n });
    const ids = await Promise.all(Array.from({ length: 20 }, () => hold(accountId, usd(2n))));
    const parallel = world.ledger({ maxBatch: 3, maxInFlight: 4 });
    const bills = ids.flatMap((operationId) => [operationId, operationId]);
    await Promise.all(bills.map((operationId) => parallel.settle({ operationId, price: usd(9n) })));
    expect(await world.balance(accountId)).toMatchObject({ usd: 0n, held: { usd: 0n } });
  });

  it('reserves space in its id: a hold with a longer id is refused before it is written', async () => {
    const accountId = await world.account({ usd: 100n });
    const request = { accountId, keyId: null, price: usd(1n), ttlMs: 60_000, snapshot: SNAPSHOT };
    const operationId = randomUUID().padEnd(195, 'x');
    await ledger.hold({ ...request, operationId });
    expect(await ledger.settle({ operationId, price: usd(3n) })).toMatchObject({
      parts: [{ currency: 'usd', amount: 3n }],
    });
    const refused = ledger.hold({ ...request, operationId: `${operationId}x` });
    await expect(refused).rejects.toMatchObject({ code: 'internal' });
  });
});

describe('the late bill of a hold', () => {
  it('is charged once, as far as funds allow', async () => {
    const accountId = await world.account({ usd: 30n });
    const operationId = await hold(accountId, usd(10n));
    await ledger.release({ operationId });
    const rest = { operationId, accountId, keyId: null, price: usd(35n), snapshot: SNAPSHOT };
    const parts = [{ currency: 'usd', amount: 30n }];
    const taken = await Promise.all([ledger.takeRest(rest), ledger.takeRest(rest)]);
    expect([...taken, await ledger.takeRest(rest)]).toEqual([parts, parts, parts]);
    expect(await findCharge(world.pool, `${operationId}:rest`)).toMatchObject({ state: 'settled', parts });
    expect(await world.balance(accountId)).toMatchObject({ usd: 0n });
  });
});
