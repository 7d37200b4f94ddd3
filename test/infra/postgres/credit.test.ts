import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setDiemAllocation } from '../../../infra/postgres/accounts.ts';
import { adjust, balanceOf, charge, findCharge, grant, refund, topUp } from '../../../infra/postgres/ledger.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';
import { payIn } from './payIn.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});

describe('a refund', () => {
  it('returns the amounts in their currencies', async () => {
    const account = await world.account({ diem: 3n, bundled: 4n, usd: 100n });
    const request = order(account, both(10n));
    await charge(world.pool, request);
    const refundId = `${request.operationId}:refund`;
    expect(
      await refund(world.pool, {
        operationId: refundId,
        chargeOperationId: request.operationId,
        reason: 'failed',
      }),
    ).toEqual({
      outcome: 'refunded',
      refundId,
      parts: [
        { currency: 'diem', amount: 3n },
        { currency: 'bundled', amount: 4n },
        { currency: 'usd', amount: 3n },
      ],
      replayed: false,
    });
    expect(await world.balance(account)).toMatchObject({ diem: 3n, bundled: 4n, usd: 100n });
    expect(await findCharge(world.pool, request.operationId)).toMatchObject({ refundId });
  });

  it('may have the same id as its charge', async () => {
    const account = await world.account({ usd: 10n });
    const { operationId } = order(account, both(4n));
    await charge(world.pool, order(account, both(4n), { operationId }));
    const back = await refund(world.pool, { operationId, chargeOperationId: operationId, reason: 'x' });
    expect(back).toMatchObject({ outcome: 'refunded', refundId: operationId });
    expect(await world.balance(account)).toMatchObject({ usd: 10n });
  });

  it('requested twice in parallel, with the same id or two, happens once', async () => {
    for (const distinct of [false, true]) {
      const account = await world.account({ usd: 100n });
      const request = order(account, both(10n));
      await charge(world.pool, request);
      const refunds = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          refund(world.pool, {
            operationId: `${request.operationId}:${distinct ? index : 'refund'}`,
            chargeOperationId: request.operationId,
            reason: 'x',
          }),
        ),
      );
      expect(refunds.filter((outcome) => outcome.outcome === 'refunded' && !outcome.replayed)).toHaveLength(1);
      expect(new Set(refunds.map((outcome) => outcome.outcome === 'refunded' && outcome.refundId)).size).toBe(1);
      expect(await world.balance(account)).toMatchObject({ usd: 100n });
    }
  });

  it('of an unknown charge is refused', async () => {
    const outcome = await refund(world.pool, {
      operationId: 'r',
      chargeOperationId: randomUUID(),
      reason: 'x',
    });
    expect(outcome).toEqual({ outcome: 'no_charge' });
  });

  it('whose id already refunded another charge is a conflict', async () => {
    const account = await world.account({ usd: 100n });
    const [one, two] = [order(account, both(1n)), order(account, both(2n))];
    await charge(world.pool, one);
    await charge(world.pool, two);
    const operationId = randomUUID();
    await refund(world.pool, { operationId, chargeOperationId: one.operationId, reason: 'x' });
    const clash = refund(world.pool, { operationId, chargeOperationId: two.operationId, reason: 'x' });
    await expect(clash).rejects.toMatchObject({ code: 'conflict' });
    expect(await world.balance(account)).toMatchObject({ usd: 98n });
  });

  it.each<[string, bigint, [bigint, bigint, bigint]]>([
    ['nothing', 0n, [0n, 0n, 0n]],
    ['a part of the usd', 2n, [0n, 0n, 2n]],
    ['usd first', 3n, [0n, 0n, 3n]],
    ['then bundled credit', 5n, [0n, 2n, 3n]],
    ['then diem', 8n, [1n, 4n, 3n]],
    ['all of it', 10n, [3n, 4n, 3n]],
    ['more than the charge as the charge', 99n, [3n, 4n, 3n]],
  ])('of a given amount returns %s', async (_name, amount, [diem, bundled, usd]) => {
    const account = await world.account({ diem: 3n, bundled: 4n, usd: 3n });
    const { operationId, ...request } = order(account, both(10n));
    await charge(world.pool, { operationId, ...request });
    await refund(world.pool, {
      operationId,
      chargeOperationId: operationId,
      reason: 'partly done',
      amount: both(amount),
    });
    expect(await world.balance(account)).toMatchObject({ diem, bundled, usd });
  });

  it('records its charge and its reason', async () => {
    const account = await world.account({ usd: 10n });
    const { operationId, ...request } = order(account, both(4n));
    await charge(world.pool, { operationId, ...request });
    await refund(world.pool, { operationId, chargeOperationId: operationId, reason: 'provider_failed' });
    const last = (await world.transfersOf(account)).at(-1);
    expect(last).toMatchObject({ kind: 'refund', amount: '4', house: 'revenue' });
    expect(last?.details).toEqual({ charge: operationId, reason: 'provider_failed' });
  });
});

describe('credit', () => {
  it.each(['usd', 'bundled', 'vcu'] as const)(
    'in %s is credited once, however often it is repeated',
    async (currency) => {
      const account = await world.account();
      const request = {
        operationId: randomUUID(),
        accountId: account,
        currency,
        amount: 7n,
        notes: 'voucher',
      };
      const credits = await Promise.all(Array.from({ length: 10 }, () => grant(world.pool, request)));
      expect(credits.filter((credit) => !credit.replayed)).toHaveLength(1);
      expect(await world.balance(account)).toMatchObject({ [currency]: 7n });
    },
  );

  it('comes from payments as a top-up, and from issuance as a grant', async () => {
    const { wallet } = await payIn(world.pool, '7');
    const request = { accountId: wallet, currency: 'usd' as const, amount: 7n, notes: 'x' };
    await grant(world.pool, { ...request, operationId: randomUUID() });
    expect((await world.transfersOf(wallet)).map((row) => [row.kind, row.house])).toEqual([
      ['top_up', 'payments'],
      ['grant', 'issuance'],
    ]);
  });

  it('as top-up and as grant with the same id is two operations', async () => {
    const { wallet, payment } = await payIn(world.pool, '7');
    const request = {
      operationId: payment,
      accountId: wallet,
      currency: 'usd' as const,
      amount: 7n,
      notes: 'x',
    };
    expect(await grant(world.pool, request)).toEqual({ replayed: false });
    expect(await world.balance(wallet)).toMatchObject({ usd: 7_007n });
  });

  it("with another account's id is a conflict", async () => {
    const request = { operationId: randomUUID(), currency: 'usd' as const, amount: 7n, notes: 'x' };
    await grant(world.pool, { ...request, accountId: await world.account() });
    const stolen = grant(world.pool, { ...request, accountId: await world.account() });
    await expect(stolen).rejects.toMatchObject({ code: 'conflict' });
  });

  it.each([0n, -1n])('of %s is refused', async (amount) => {
    const account = await world.account();
    const request = {
      operationId: randomUUID(),
      accountId: account,
      currency: 'usd' as const,
      amount,
      notes: 'x',
    };
    await expect(topUp(world.pool, request)).rejects.toBeInstanceOf(RangeError);
  });

  it('to an unknown account is refused', async () => {
    const request = {
      operationId: randomUUID(),
      accountId: randomUUID(),
      currency: 'usd' as const,
      amount: 1n,
      notes: '',
    };
    await expect(grant(world.pool, request)).rejects.toMatchObject({ code: 'internal' });
  });
});

describe('an adjustment', () => {
  it('corrects in both directions, but never below what is held', async () => {
    const account = await world.account({ usd: 10n });
    const ledger = world.ledger();
    await ledger.hold({ ...order(account, both(6n)), ttlMs: 60_000 });
    const take = (amount: bigint) =>
      adjust(world.pool, {
        operationId: randomUUID(),
        accountId: account,
        currency: 'usd',
        amount,
        notes: 'x',
      });
    expect(await take(-5n)).toEqual({ outcome: 'insufficient' });
    expect(await take(-4n)).toEqual({ outcome: 'adjusted', replayed: false });
    expect(await take(3n)).toEqual({ outcome: 'adjusted', replayed: false });
    expect(await world.balance(account)).toMatchObject({ usd: 3n, held: { usd: 6n } });
  });

  it('of diem changes the diem of today, and the day keeps its only grant', async () => {
    const account = await world.account({ diem: 5n });
    const request = {
      operationId: randomUUID(),
      accountId: account,
      currency: 'diem' as const,
      amount: 3n,
      notes: 'x',
    };
    expect(await adjust(world.pool, request)).toEqual({ outcome: 'adjusted', replayed: false });
    expect(await adjust(world.pool, request)).toEqual({ outcome: 'adjusted', replayed: true });
    expect(await world.balance(account)).toMatchObject({ diem: 8n, diemAllocation: 5n });
  });
});

describe('a balance', () => {
  it('of an unknown account is undefined', async () => {
    expect(await balanceOf(world.pool, randomUUID())).toBeUndefined();
  });

  it('shows the allocation until the first use of the day, and keeps the day when the allocation changes', async () => {
    const account = await world.account({ diem: 10n });
    expect(await world.balance(account)).toMatchObject({ diem: 10n, diemAllocation: 10n });
    await setDiemAllocation(world.pool, account, 20n);
    expect(await world.balance(account)).toMatchObject({ diem: 20n, diemAllocation: 20n });
    await charge(world.pool, order(account, both(1n)));
    await setDiemAllocation(world.pool, account, 50n);
    expect(await world.balance(account)).toMatchObject({ diem: 19n, diemAllocation: 20n });
  });
});
