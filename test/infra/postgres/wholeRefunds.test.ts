/** A refund returns the whole bill of a request once: its hold, and the rest that a second operation took. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LedgerPrice, Part } from '../../../domain/ledger.ts';
import type { Ledger } from '../../../infra/postgres/createLedger.ts';
import { refund, withdrawHold } from '../../../infra/postgres/ledger.ts';
import { both, createLedgerWorld, type LedgerWorld, SNAPSHOT } from './ledgerWorld.ts';

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

const FUNDS = { usd: 40n, bundled: 7n, diem: 9n };

interface Payer {
  accountId: string;
  keyId: string;
  parentId: string;
  operationId: string;
}

async function heldFor(price: LedgerPrice): Promise<Payer> {
  const accountId = await world.account(FUNDS);
  const parentId = await world.key(accountId, { usd: 38n });
  const keyId = await world.key(accountId, { usd: 35n, diem: 8n }, parentId);
  const operationId = randomUUID();
  const request = { operationId, accountId, keyId, price, ttlMs: 60_000, snapshot: SNAPSHOT };
  expect(await ledger.hold(request)).toMatchObject({ outcome: 'held' });
  return { accountId, keyId, parentId, operationId };
}

/** Bills like a paid request: the second operation takes what the hold no longer covers. */
async function bill({ operationId, accountId, keyId }: Payer, price: LedgerPrice): Promise<void> {
  const { outcome } = await ledger.settle({ operationId, accountId, price });
  if (outcome === 'settled') return;
  await ledger.takeRest({ operationId, accountId, keyId, price, snapshot: SNAPSHOT });
}

const undo = ({ operationId }: Payer) =>
  refund(world.pool, { operationId: `back-${operationId}`, chargeOperationId: operationId, reason: 'x' });

const withdraw = ({ operationId, accountId }: Payer) =>
  withdrawHold(world.pool, { operationId, accountId, reason: 'timed_out' });

/** Amount taken and not returned, by the transfers. */
async function netOf({ accountId }: Payer): Promise<bigint> {
  const { rows } = await world.owner.query<{ net: string }>(
    `select coalesce(-sum(amount), 0) as net from transfers where account_id = $1 and kind in ('charge', 'refund')`,
    [accountId],
  );
  return BigInt(rows[0]?.net ?? 0);
}

async function expectUntouched(payer: Payer): Promise<void> {
  expect(await netOf(payer)).toBe(0n);
  expect(await world.balance(payer.accountId)).toMatchObject({
    ...FUNDS,
    held: { usd: 0n, bundled: 0n, diem: 0n },
  });
  const { rows } = await world.owner.query(
    'select usd_used, usd_held, diem_used, diem_held from key_days where key_id in ($1, $2)',
    [payer.keyId, payer.parentId],
  );
  for (const row of rows) {
    expect(row).toEqual({ usd_used: '0', usd_held: '0', diem_used: '0', diem_held: '0' });
  }
}

const sumOf = (parts: Part[]) => parts.reduce((sum, { amount }) => sum + amount, 0n);

it('returns the rest beyond the hold together with the hold', async () => {
  const payer = await heldFor(both(12n));
  await bill(payer, both(30n));
  expect(await netOf(payer)).toBe(30n);
  const first = await undo(payer);
  expect(first).toMatchObject({ outcome: 'refunded', replayed: false });
  await expectUntouched(payer);
  expect(await undo(payer)).toEqual({ ...first, replayed: true });
  await expectUntouched(payer);
});

const price = fc.tuple(fc.bigInt(0n, 20n), fc.bigInt(0n, 8n)).map(([usd, diem]) => ({ usd, diem }));
const cost = fc.tuple(fc.bigInt(0n, 60n), fc.bigInt(0n, 20n)).map(([usd, diem]) => ({ usd, diem }));

type Step = { how: 'bill'; price: LedgerPrice } | { how: 'release' | 'refund' | 'withdraw' };
const step: fc.Arbitrary<Step> = fc.oneof(
  cost.map((each) => ({ how: 'bill' as const, price: each })),
  fc.constantFrom('release' as const, 'refund' as const, 'withdraw' as const).map((how) => ({ how })),
);

async function take(payer: Payer, each: Step): Promise<void> {
  if (each.how === 'bill') await bill(payer, each.price);
  else if (each.how === 'release') await ledger.release({ operationId: payer.operationId });
  else if (each.how === 'refund') await undo(payer);
  else await withdraw(payer);
}

describe('any earlier state', () => {
  it('ends with nothing billed after a refund', async () => {
    const steps = fc.array(step, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(price, steps, async (held, all) => {
        const payer = await heldFor(held);
        for (const each of all) await take(payer, each);
        await ledger.release({ operationId: payer.operationId });
        const outcome = await undo(payer);
        await expectUntouched(payer);
        const again = await undo(payer);
        if (outcome.outcome === 'refunded') expect(again).toEqual({ ...outcome, replayed: true });
        else expect(again).toEqual(outcome);
      }),
      { numRuns: 60 },
    );
  });

  it('admits no bill after a withdrawal, or at the same moment', async () => {
    const steps = fc.array(step, { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(price, steps, cost, steps, async (held, before, late, after) => {
        const payer = await heldFor(held);
        for (const each of before) await take(payer, each);
        await Promise.all([bill(payer, late), withdraw(payer), bill(payer, late)]);
        await expectUntouched(payer);
        for (const each of after) await take(payer, each);
        await expectUntouched(payer);
      }),
      { numRuns: 60 },
    );
  });

  it('allows a partial refund across both operations, up to their sum', async () => {
    await fc.assert(
      fc.asyncProperty(price, cost, cost, async (held, all, amount) => {
        const payer = await heldFor(held);
        await bill(payer, all);
        const taken = await netOf(payer);
        const { operationId } = payer;
        const part = {
          operationId: `part-${operationId}`,
          chargeOperationId: operationId,
          reason: 'x',
          amount,
        };
        const outcome = await refund(world.pool, part);
        const back = outcome.outcome === 'refunded' ? sumOf(outcome.parts) : 0n;
        expect(await netOf(payer)).toBe(taken - back);
        expect(back).toBeLessThanOrEqual(taken);
        expect(await undo(payer)).toMatchObject({ outcome: 'refunded', replayed: true });
        expect(await netOf(payer)).toBe(taken - back);
      }),
      { numRuns: 40 },
    );
  });
});
