/** Idempotency names are unique for all time, not within the partition of a month. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimIdempotencyKey } from '../../../infra/postgres/idempotency.ts';
import { recordEvents, timelineOf } from '../../../infra/postgres/jobEvents.ts';
import { insertJob } from '../../../infra/postgres/jobs.ts';
import { charge, grant, refund } from '../../../infra/postgres/ledger.ts';
import { creditTopUp, paymentIdOf, recordTopUp } from '../../../infra/postgres/topUps.ts';
import { timeOrderedId } from '../../../infra/timeOrderedId.ts';
import { somePayment } from '../../payments/scriptedNetwork.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';
import { newJob } from './newJob.ts';

describe('what is repeated after the end of the month', () => {
  let other: LedgerWorld;
  let accountId: string;
  beforeAll(async () => {
    other = await createLedgerWorld();
    await other.setClock('2026-11-30T23:59:59Z');
    accountId = await other.account({ usd: 100n });
  });
  afterAll(async () => {
    await other.expectSound();
    await other.close();
  });

  /** Runs an act before and after the end of the month; returns both outcomes. */
  async function acrossTheEnd<T>(act: () => Promise<T>): Promise<[T, T]> {
    await other.setClock('2026-11-30T23:59:59.9Z');
    const first = await act();
    await other.setClock('2026-12-01T00:00:00.1Z');
    return [first, await act()];
  }

  it('is charged once', async () => {
    const one = order(accountId, both(4n));
    const [first, second] = await acrossTheEnd(() => charge(other.pool, one));
    expect([first, second]).toMatchObject([{ replayed: false }, { replayed: true }]);
  });

  it('is held and settled once', async () => {
    const ledger = other.ledger();
    const operationId = randomUUID();
    const held = { ...order(accountId, both(3n)), operationId, ttlMs: 600_000 };
    const holds = await acrossTheEnd(() => ledger.hold(held));
    expect(holds).toMatchObject([{ replayed: false }, { replayed: true, state: 'held' }]);
    const settles = await acrossTheEnd(() => ledger.settle({ operationId, price: both(2n) }));
    expect(settles).toMatchObject([
      { outcome: 'settled', replayed: false },
      { outcome: 'settled', replayed: true },
    ]);
  });

  it('is refunded once', async () => {
    const one = order(accountId, both(5n));
    await charge(other.pool, one);
    const undo = { operationId: randomUUID(), chargeOperationId: one.operationId, reason: 'test' };
    const outcomes = await acrossTheEnd(() => refund(other.pool, undo));
    expect(outcomes).toMatchObject([{ replayed: false }, { replayed: true }]);
  });

  it.each([['granted', grant]] as const)('is %s once', async (_name, credit) => {
    const one = { operationId: randomUUID(), accountId, currency: 'usd', amount: 7n, notes: 'test' } as const;
    const outcomes = await acrossTheEnd(() => credit(other.pool, one));
    expect(outcomes).toEqual([{ replayed: false }, { replayed: true }]);
  });

  it('is credited once for one payment, however often it is submitted', async () => {
    const payment = somePayment();
    const paymentId = paymentIdOf(payment);
    const recorded = await acrossTheEnd(() =>
      recordTopUp(other.pool, { payment, decimals: 6, requestId: '0'.repeat(32) }),
    );
    expect(recorded.map((row) => row.paymentId)).toEqual([paymentId, paymentId]);
    const credit = { paymentId, units: payment.amount, transaction: '0x1' };
    const credited = await acrossTheEnd(() => creditTopUp(other.pool, credit));
    expect(credited).toMatchObject([{ state: 'credited' }, { state: 'credited' }]);
    const [row] = credited;
    expect(await other.transfersOf(row.accountId)).toHaveLength(1);
    expect((await other.balance(row.accountId)).usd).toBe(row.creditedNano);
  });

  it('is accepted once as a job, and recorded once', async () => {
    const job = newJob(accountId);
    const accepted = await acrossTheEnd(() => insertJob(other.pool, job, [{ event: 'charged' }]));
    expect(accepted).toEqual([true, false]);
    await acrossTheEnd(() => recordEvents(other.pool, job.queueId, [{ event: 'submitted' }]));
    const told = (await timelineOf(other.pool, job.queueId)).map(({ event }) => event);
    expect(told.sort()).toEqual(['charged', 'submitted']);
    await other.owner.query('delete from jobs where queue_id = $1', [job.queueId]);
  });

  it('has one Idempotency-Key', async () => {
    const claim = {
      accountId,
      keyId: null,
      visibleTo: null,
      key: 'once',
      route: '/x',
      bodySha256: Buffer.alloc(32),
      queueId: timeOrderedId(),
    };
    const outcomes = await acrossTheEnd(() => claimIdempotencyKey(other.pool, claim));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['new', 'known']);
  });
});
