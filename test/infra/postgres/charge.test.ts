import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FareboxError } from '../../../domain/errors.ts';
import { charge, findCharge, grant } from '../../../infra/postgres/ledger.ts';
import { inTransaction } from '../../../infra/postgres/pool.ts';
import { both, createLedgerWorld, type LedgerWorld, order, SNAPSHOT } from './ledgerWorld.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});

describe('a charge', () => {
  it('takes diem, then bundled credit, then usd, each as its own transfer', async () => {
    const account = await world.account({ diem: 3n, bundled: 4n, usd: 100n });
    const request = order(account, both(10n));
    expect(await charge(world.pool, request)).toEqual({
      outcome: 'charged',
      chargeId: request.operationId,
      parts: [
        { currency: 'diem', amount: 3n },
        { currency: 'bundled', amount: 4n },
        { currency: 'usd', amount: 3n },
      ],
      replayed: false,
    });
    const charges = (await world.transfersOf(account)).filter((row) => row.kind === 'charge');
    expect(charges.map(({ currency, amount, house }) => [currency, amount, house])).toEqual([
      ['diem', '-3', 'revenue'],
      ['bundled', '-4', 'revenue'],
      ['usd', '-3', 'revenue'],
    ]);
    expect(await world.balance(account)).toMatchObject({ diem: 0n, bundled: 0n, usd: 97n });
  });

  it('stores the price snapshot with every transfer', async () => {
    const account = await world.account({ usd: 10n });
    await charge(world.pool, order(account, both(1n), { snapshot: { ...SNAPSHOT, notes: 'für Ä, "x" \\ {1,2}' } }));
    const [, row] = await world.transfersOf(account);
    expect(row?.details).toEqual({ ...SNAPSHOT, notes: 'für Ä, "x" \\ {1,2}' });
  });

  it('without funds changes nothing and may succeed later under the same id', async () => {
    const account = await world.account({ usd: 9n, diem: 0n });
    const request = order(account, both(10n));
    expect(await charge(world.pool, request)).toEqual({ outcome: 'insufficient' });
    expect(await world.balance(account)).toMatchObject({ usd: 9n });
    expect(await findCharge(world.pool, request.operationId)).toBeUndefined();
    await grant(world.pool, {
      operationId: randomUUID(),
      accountId: account,
      currency: 'usd',
      amount: 1n,
      notes: '',
    });
    expect(await charge(world.pool, request)).toMatchObject({ outcome: 'charged', replayed: false });
    expect(await world.balance(account)).toMatchObject({ usd: 0n });
  });

  it('does not change the diem day when it is refused', async () => {
    const account = await world.account({ diem: 5n });
    expect(await charge(world.pool, order(account, both(6n)))).toEqual({ outcome: 'insufficient' });
    const { rows } = await world.owner.query('select 1 from diem_days where account_id = $1', [account]);
    expect(rows).toEqual([]);
  });

  it('repeated with its operation id returns the first outcome and takes nothing more', async () => {
    const account = await world.account({ usd: 100n, diem: 4n });
    const request = order(account, both(10n));
    const first = await charge(world.pool, request);
    const again = await charge(world.pool, { ...request, price: both(50n) });
    expect(again).toEqual({ ...first, replayed: true });
    expect(await world.balance(account)).toMatchObject({ usd: 94n, diem: 0n });
  });

  it('requested 20 times at once is made once', async () => {
    const account = await world.account({ usd: 100n });
    const request = order(account, both(10n));
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => charge(world.pool, request)));
    expect(outcomes.every((outcome) => outcome.outcome === 'charged')).toBe(true);
    expect(outcomes.filter((outcome) => outcome.outcome === 'charged' && !outcome.replayed)).toHaveLength(1);
    expect(await world.balance(account)).toMatchObject({ usd: 90n });
  });

  it('waits for the same operation in another open transaction and then returns its outcome', async () => {
    const account = await world.account({ usd: 100n });
    const request = order(account, both(10n));
    let second: Promise<unknown> = Promise.resolve();
    await inTransaction(world.pool, async (client) => {
      expect(await charge(client, request)).toMatchObject({ replayed: false });
      second = charge(world.pool, request);
      await new Promise((resolve) => setTimeout(resolve, 150));
    });
    expect(await second).toMatchObject({ outcome: 'charged', replayed: true });
    expect(await world.balance(account)).toMatchObject({ usd: 90n });
  });

  it('is rolled back with the transaction of its caller', async () => {
    const account = await world.account({ usd: 100n, diem: 5n });
    const request = order(account, both(10n));
    await expect(
      inTransaction(world.pool, async (client) => {
        await charge(client, request);
        throw new Error('the job row could not be written');
      }),
    ).rejects.toThrow('the job row');
    expect(await world.balance(account)).toMatchObject({ usd: 100n, diem: 5n });
    expect(await charge(world.pool, request)).toMatchObject({ replayed: false });
  });

  it('of zero is made without a transfer', async () => {
    const account = await world.account();
    expect(await charge(world.pool, order(account, both(0n)))).toMatchObject({
      outcome: 'charged',
      parts: [],
    });
    expect(await world.transfersOf(account)).toEqual([]);
  });

  it('takes the exact proportion when the diem price differs, also where 64 bits would overflow', async () => {
    const account = await world.account({ diem: 7_000_000_000_000n, usd: 90_000_000_000_000n });
    const outcome = await charge(world.pool, order(account, { usd: 30_000_000_000_001n, diem: 20_000_000_000_000n }));
    // 13/20 of the usd price, rounded up.
    expect(outcome).toMatchObject({
      parts: [
        { currency: 'diem', amount: 7_000_000_000_000n },
        { currency: 'usd', amount: 19_500_000_000_001n },
      ],
    });
  });

  it.each([
    ['a key that does not exist', { keyId: randomUUID() }],
    ['an account id that is no UUID', { accountId: "1' or 1=1" }],
    ['an empty operation id', { operationId: '' }],
    ['an operation id over 200 characters', { operationId: 'x'.repeat(201) }],
    ['a negative price', { price: { usd: -1n, diem: 1n } }],
    ['a price beyond 2^62', { price: { usd: 1n, diem: 2n ** 62n } }],
  ])('with %s is a programming error: thrown, nothing charged', async (_name, mistake) => {
    const account = await world.account({ usd: 100n });
    await expect(charge(world.pool, order(account, both(1n), mistake))).rejects.toMatchObject({
      code: 'internal',
    });
    expect(await world.balance(account)).toMatchObject({ usd: 100n });
  });

  it('of an unknown account is refused for lack of funds', async () => {
    const account = await world.account({ usd: 100n });
    for (const price of [both(1n), both(0n)]) {
      const outcome = await charge(world.pool, order(account, price, { accountId: randomUUID() }));
      expect(outcome).toEqual({ outcome: 'insufficient' });
    }
  });

  it("with another account's key is refused as a programming error", async () => {
    const account = await world.account({ usd: 100n });
    const foreign = await world.key(await world.account({ usd: 100n }));
    await expect(charge(world.pool, order(account, both(1n), { keyId: foreign }))).rejects.toMatchObject({
      code: 'internal',
    });
  });

  it("under another account's operation id is a conflict and takes nothing", async () => {
    const [first, second] = [await world.account({ usd: 100n }), await world.account({ usd: 100n })];
    const request = order(first, both(10n));
    await charge(world.pool, request);
    const stolen = charge(world.pool, { ...request, accountId: second });
    await expect(stolen).rejects.toBeInstanceOf(FareboxError);
    await expect(stolen).rejects.toMatchObject({ code: 'conflict' });
    expect(await world.balance(second)).toMatchObject({ usd: 100n });
  });
});
