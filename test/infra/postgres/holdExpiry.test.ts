/** Holds expire in spite of damaged and locked accounts, and at once for an account that needs its funds. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFundsReader } from '../../../infra/postgres/funds.ts';
import { expireHolds } from '../../../infra/postgres/holdExpiry.ts';
import { charge } from '../../../infra/postgres/ledger.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import { both, createLedgerWorld, type KeyLimits, type LedgerWorld, order } from './ledgerWorld.ts';

let world: LedgerWorld;
beforeEach(async () => {
  world = await createLedgerWorld();
  await world.setClock('2026-11-21T12:00:00Z');
});
afterEach(() => world.close());

/** An account with one hold that is due when the clock is set a minute later. */
async function holder(usd = 10n, limits?: KeyLimits) {
  const accountId = await world.account({ usd });
  const keyId = limits ? await world.key(accountId, limits) : null;
  const request = order(accountId, both(10n), { keyId });
  await world.ledger().hold({ ...request, ttlMs: 1_000 });
  return { accountId, keyId, operationId: request.operationId };
}

it('a damaged account, and a hold without its operation, are reported and stop no other expiry', async () => {
  const holders = await Promise.all(Array.from({ length: 20 }, () => holder()));
  const [damaged, orphaned, ...sound] = holders as [(typeof holders)[0], ...typeof holders];
  await world.owner.query('update accounts set usd_held = 0 where id = $1', [damaged.accountId]);
  await world.owner.query('delete from operations where operation_id = $1', [orphaned?.operationId]);
  await world.setClock('2026-11-21T12:01:00Z');
  const page = await expireHolds(world.pool, 100);
  expect(page.expired).toBe(18);
  expect(new Set(page.failed.map(({ operationId }) => operationId))).toEqual(
    new Set([damaged.operationId, orphaned?.operationId]),
  );
  for (const { accountId } of sound) {
    expect(await world.balance(accountId)).toMatchObject({ usd: 10n, held: { usd: 0n } });
  }
});

it('continues with the next page after holds that could not be expired', async () => {
  for (const [index, { accountId }] of (await Promise.all([holder(), holder()])).entries()) {
    if (index === 0) await world.owner.query('update accounts set usd_held = 0 where id = $1', [accountId]);
  }
  await world.setClock('2026-11-21T12:01:00Z');
  const pages = [];
  for (let after: Awaited<ReturnType<typeof expireHolds>>['last']; pages.length < 5; ) {
    const page = await expireHolds(world.pool, 1, after);
    pages.push(page.expired + page.failed.length);
    after = page.last;
    if (!after) break;
  }
  expect(pages).toEqual([1, 1, 0]);
});

it('skips a locked account until the next sweep, without a wait', async () => {
  const [locked, free] = [await holder(), await holder()];
  await world.setClock('2026-11-21T12:01:00Z');
  const client = await world.owner.connect();
  await client.query('begin');
  await client.query('select from accounts where id = $1 for update', [locked.accountId]);
  expect(await expireHolds(world.pool, 100)).toMatchObject({ expired: 1, failed: [] });
  expect(await world.balance(free.accountId)).toMatchObject({ usd: 10n });
  await client.query('rollback');
  client.release();
  expect(await expireHolds(world.pool, 100)).toMatchObject({ expired: 1, failed: [] });
});

it.each([
  { name: 'funds', usd: 10n, limits: undefined },
  { name: 'the limit of a key', usd: 100n, limits: { usd: 10n } },
])('frees the $name of a due hold for the next call without a sweep', async ({ usd, limits }) => {
  const { accountId, keyId } = await holder(usd, limits);
  const ledger = world.ledger();
  const next = () => ledger.hold({ ...order(accountId, both(6n), { keyId }), ttlMs: 60_000 });
  expect((await next()).outcome).not.toBe('held');
  await world.setClock('2026-11-21T12:01:00Z');
  // Both run in one statement. The second is refused, as it would be after a sweep.
  const outcomes = (await Promise.all([next(), next()])).map(({ outcome }) => outcome);
  expect(outcomes[0]).toBe('held');
  expect(outcomes[1]).not.toBe('held');
  expect(await charge(world.pool, order(accountId, both(4n), { keyId }))).toMatchObject({
    outcome: 'charged',
  });
  await world.expectSound();
});

it('refuses a call of an account with a damaged hold without an error', async () => {
  const { accountId, operationId } = await holder();
  await world.owner.query('update operations set held_usd = 20 where operation_id = $1', [operationId]);
  await world.setClock('2026-11-21T12:01:00Z');
  const request = order(accountId, both(6n), { operationId: randomUUID() });
  expect(await world.ledger().hold({ ...request, ttlMs: 60_000 })).toEqual({ outcome: 'insufficient' });
});

it('expires holds of other accounts in the batch of a damaged account', async () => {
  const [damaged, sound] = [await holder(), await holder()];
  await world.owner.query('update operations set held_usd = 20 where operation_id = $1', [damaged.operationId]);
  await world.setClock('2026-11-21T12:01:00Z');
  const ledger = world.ledger();
  const outcomes = await Promise.all(
    [damaged, sound].map(({ accountId }) => ledger.hold({ ...order(accountId, both(6n)), ttlMs: 60_000 })),
  );
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['insufficient', 'held']);
});

it('waits for no lock of its account before the body, and expires its holds when the account is free', async () => {
  const { accountId } = await holder();
  await world.setClock('2026-11-21T12:01:00Z');
  // Statements of this pool wait for a lock until they fail.
  const pool = openPool({ databaseUrl: world.databaseUrl, applicationName: 'test', lockTimeoutMs: 60_000 });
  const reader = createFundsReader(pool);
  const client = await world.owner.connect();
  await client.query('begin');
  await client.query('select from accounts where id = $1 for update', [accountId]);
  expect(await reader.expireDueHolds(accountId)).toBe(false);
  await client.query('rollback');
  client.release();
  expect(await reader.expireDueHolds(accountId)).toBe(true);
  expect(await world.balance(accountId)).toMatchObject({ usd: 10n, held: { usd: 0n } });
  await reader.close();
  await pool.end();
});
