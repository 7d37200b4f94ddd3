/** A hold and its bill: an excess is charged as far as funds reach, and the rest is reported. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openHold } from '../../../api/paid/ledgerHold.ts';
import type { Caller } from '../../../domain/caller.ts';
import { unpaidPart } from '../../../domain/ledger.ts';
import type { Logger } from '../../../infra/log.ts';
import { expireHolds } from '../../../infra/postgres/holdExpiry.ts';
import { ledgerOverruns, ledgerOverrunUsd } from '../../../infra/telemetry/counters.ts';
import { both, createLedgerWorld, type LedgerWorld, SNAPSHOT } from '../../infra/postgres/ledgerWorld.ts';

let world: LedgerWorld;
let ledger: ReturnType<LedgerWorld['ledger']>;
beforeAll(async () => {
  world = await createLedgerWorld();
  ledger = world.ledger();
  await world.setClock('2026-11-21T12:00:00Z');
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});
beforeEach(() => {
  ledgerOverruns.reset();
  ledgerOverrunUsd.reset();
});

const warnings: Record<string, unknown>[] = [];
const log = { warn: (fields: Record<string, unknown>) => warnings.push(fields) } as unknown as Logger;

async function figures() {
  const [causes, usd] = await Promise.all([ledgerOverruns.get(), ledgerOverrunUsd.get()]);
  const toEntries = ({ values }: { values: { labels: object; value: number }[] }) =>
    Object.fromEntries(values.map(({ labels, value }) => [Object.values(labels)[0], value]));
  return { ...toEntries(causes), ...toEntries(usd) };
}

async function openCall(funds: { usd?: bigint; diem?: bigint }, bound = 10_000_000_000n) {
  const accountId = await world.account(funds);
  const requestId = randomUUID();
  const caller = { accountId, keyId: null } as Caller;
  const request = { caller, log, expired: false, beforeLoss: () => undefined };
  const terms = { operationId: requestId, bound: both(bound), snapshot: SNAPSHOT, ttlMs: 60_000 };
  warnings.length = 0;
  return {
    accountId,
    requestId,
    hold: await openHold({ core: { sql: world.pool }, accounts: { ledger } }, request, terms),
  };
}

const USD = 1_000_000_000n;
const part = (usd: bigint) => [{ currency: 'usd', amount: usd * USD }];

describe('a bill', () => {
  it('within its hold is returned unchanged, without a warning', async () => {
    const { hold } = await openCall({ usd: 50n * USD });
    const settled = await hold.settle(both(7n * USD), {});
    expect(settled).toEqual({ parts: part(7n), cost: both(7n * USD), missing: both(0n) });
    expect([await figures(), warnings]).toEqual([{}, []]);
  });

  it('above its hold is charged in full, logged and counted', async () => {
    const { hold, requestId, accountId } = await openCall({ usd: 50n * USD });
    const settled = await hold.settle(both(35n * USD), {});
    expect(settled).toEqual({ parts: part(35n), cost: both(35n * USD), missing: both(0n) });
    expect(await figures()).toEqual({ above_hold: 1, taken: 25, missing: 0 });
    const amounts = { heldUsd: 10, billUsd: 35, missingUsd: 0 };
    expect(warnings).toEqual([{ requestId, accountId, model: 'test', cause: 'above_hold', ...amounts }]);
  });

  it('above its hold and the funds reports the charged and the missing amount', async () => {
    const { hold } = await openCall({ usd: 20n * USD });
    const told = { parts: part(20n), cost: both(20n * USD), missing: both(15n * USD) };
    expect(await hold.settle(both(35n * USD), {})).toEqual(told);
    expect(await hold.settle(both(35n * USD), {})).toEqual(told);
    expect(await figures()).toMatchObject({ above_hold: 2, missing: 30 });
    expect(warnings[0]).toMatchObject({ missingUsd: 15 });
  });

  it.each(['expired', 'released'])('of a hold that was %s before is taken without it, once', async (end) => {
    const { hold, accountId, requestId } = await openCall({ usd: 20n * USD });
    if (end === 'released') await ledger.release({ operationId: requestId });
    else {
      await world.setClock('2026-11-21T12:10:00Z');
      await expireHolds(world.pool, 100);
    }
    const details = { units: '999999999999998', notes: 'API Inference' };
    const told = { parts: part(7n), cost: both(7n * USD), missing: both(0n) };
    expect(await hold.settle(both(7n * USD), details)).toEqual(told);
    expect(await hold.settle(both(7n * USD), details)).toEqual(told);
    expect(await figures()).toMatchObject({ [end]: 2, missing: 0 });
    expect((await world.transfersOf(accountId)).slice(1)).toMatchObject([
      {
        ...{ operation_id: `${requestId}:rest`, amount: String(-7n * USD) },
        details: {
          units: '999999999999998',
          notes: 'API Inference; billed after its hold had ended',
          restOf: requestId,
        },
      },
    ]);
  });
});

it.each([
  { price: { usd: 10n, diem: 10n }, diem: 0n, usd: 4n, unpaid: { usd: 6n, diem: 6n } },
  { price: { usd: 10n, diem: 20n }, diem: 7n, usd: 1n, unpaid: { usd: 6n, diem: 12n } },
  { price: { usd: 3n, diem: 7n }, diem: 3n, usd: 1n, unpaid: { usd: 1n, diem: 3n } },
  { price: { usd: 0n, diem: 7n }, diem: 3n, usd: 0n, unpaid: { usd: 0n, diem: 4n } },
  { price: { usd: 7n, diem: 0n }, diem: 0n, usd: 3n, unpaid: { usd: 4n, diem: 0n } },
  { price: { usd: 7n, diem: 7n }, diem: 5n, usd: 9n, unpaid: { usd: 0n, diem: 0n } },
])('computes the unpaid $unpaid of $price with $diem diem and $usd usd like the database', async (each) => {
  const { price, diem, usd, unpaid } = each;
  const parts = [
    { currency: 'diem', amount: diem },
    { currency: 'usd', amount: usd },
  ] as const;
  expect(unpaidPart(price, parts)).toEqual(unpaid);
  const { rows } = await world.pool.query('select * from ledger_unpaid($1, $2, $3, $4)', [
    ...[price.usd, price.diem, diem, usd].map(String),
  ]);
  expect(rows).toEqual([{ usd: String(unpaid.usd), diem: String(unpaid.diem) }]);
});
