/** Proves that the check can fail: each invariant is broken once, and must be named. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { charge, grant, refund } from '../../../infra/postgres/ledger.ts';
import { type BrokenInvariant, checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { LEDGER_INVARIANTS } from '../../../infra/postgres/ledgerInvariants.ts';
import { Findings } from '../../../infra/postgres/ledgerSnapshots.ts';
import { inTransaction } from '../../../infra/postgres/pool.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';

let world: LedgerWorld;
let account: string;
let other: string;
let key: string;
/** Charges with parts in all three currencies; the second is refunded. */
let charged: string;
let child: string;
let byChild: string;
let refunded: string;
let held: string;

beforeEach(async () => {
  world = await createLedgerWorld();
  account = await world.account({ usd: 1_000n, bundled: 3n, diem: 4n });
  other = await world.account({ usd: 1_000n });
  key = await world.key(account, { usd: 500n, diem: 500n, period: 'MONTH' });
  const [first, second] = [order(account, both(10n), { keyId: key }), order(account, both(20n), { keyId: key })];
  child = await world.key(account, { usd: 400n, diem: 500n, period: 'LIFETIME' }, key);
  const small = order(account, both(5n), { keyId: child });
  byChild = small.operationId;
  const third = { ...order(account, both(30n), { keyId: key }), ttlMs: 60_000 };
  charged = first.operationId;
  refunded = second.operationId;
  held = third.operationId;
  await charge(world.pool, first);
  await charge(world.pool, second);
  await charge(world.pool, small);
  await refund(world.pool, { operationId: `${refunded}:r`, chargeOperationId: refunded, reason: 'x' });
  await world.ledger().hold(third);
  await charge(world.pool, order(other, both(7n)));
});
afterEach(() => world.close());

async function brokenBy(...statements: string[]): Promise<string[]> {
  return (await brokenRows(...statements)).map(({ invariant }) => invariant);
}

async function brokenRows(...statements: string[]): Promise<BrokenInvariant[]> {
  // Without the tables' own protection, because the check must notice by itself.
  const client = await world.owner.connect();
  try {
    await client.query('set session_replication_role = replica');
    for (const statement of statements) await client.query(statement);
  } finally {
    client.release(true);
  }
  const broken = await checkLedger(world.pool);
  for (const finding of broken) expect(finding.rows.length).toBeGreaterThan(0);
  return broken;
}

function named(found: string[], ...wanted: string[]): void {
  for (const start of wanted) expect(found.some((name) => name.startsWith(start))).toBe(true);
}

const dropChecks = (table: string, constraint: string) => `alter table ${table} drop constraint ${constraint}`;

describe('a sound ledger', () => {
  it('has no broken invariant', async () => {
    expect(await checkLedger(world.pool)).toEqual([]);
  });

  it('is sound inside a transaction of the caller too', async () => {
    await inTransaction(world.pool, async (client) => {
      await charge(client, order(account, both(3n)));
      expect(await checkLedger(client)).toEqual([]);
    });
  });

  it('stays sound at every moment under load', async () => {
    const ledger = world.ledger();
    let busy = true;
    const work = Array.from({ length: 20 }, async () => {
      while (busy) {
        const request = order(Math.random() < 0.5 ? account : other, both(5n));
        await grant(world.pool, {
          operationId: randomUUID(),
          accountId: request.accountId,
          currency: 'usd',
          amount: 5n,
          notes: '',
        });
        await ledger.hold({ ...request, ttlMs: 60_000 });
        await ledger.settle({ operationId: request.operationId, price: both(3n) });
        const { operationId } = request;
        await refund(world.pool, { operationId, chargeOperationId: operationId, reason: 'x' });
      }
    });
    for (let look = 0; look < 5; look += 1) await world.expectSound();
    busy = false;
    await Promise.all(work);
    await world.expectSound();
  });

  it('is checked for every invariant of the list', () => {
    const numbers = new Set(LEDGER_INVARIANTS.map((name) => name.split(' ')[0]));
    const known = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16].map((number) => `I${number}`);
    expect([...numbers].sort()).toEqual(known.sort());
  });
});

describe('the check finds', () => {
  it('all broken rows, and shows 100 of each rule', async () => {
    const broken = await brokenRows(
      dropChecks('transfers', 'transfers_check'),
      `insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
        select now() - interval '1 hour', 'none' || n, 'charge', gen_random_uuid(), 'issuance', 'usd', 1, '2001-01-01', '{}'
        from generate_series(1, 30000) n`,
    );
    named(
      broken.map(({ invariant }) => invariant),
      ...['I7', 'I10'],
    );
    expect(Math.max(...broken.map(({ rows }) => rows.length))).toBe(100);
  });

  it('more broken rows than a query has parameters', () => {
    const findings = new Findings();
    findings.add(Array.from({ length: 1_000_000 }, (_, n) => ({ invariant: `I${n % 3}`, row: { n } })));
    expect(findings.rowsOf('I1').map(({ n }) => n)).toEqual(Array.from({ length: 100 }, (_, n) => 3 * n + 1));
    expect([findings.isEmpty, findings.rowsOf('I4'), new Findings().isEmpty]).toEqual([false, [], true]);
  });

  it('a broken row from years ago', async () => {
    named(
      await brokenBy(
        dropChecks('transfers', 'transfers_check'),
        `insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
          values ('1999-12-31', 'none', 'charge', '${account}', 'issuance', 'usd', 1, '1999-12-31', '{}')`,
      ),
      'I7',
    );
  });

  it.each([
    'grant update on transfers to farebox_app',
    'grant update (amount) on transfers to farebox_app',
    'grant delete on transfers to farebox_app',
    'grant truncate on transfers to farebox_app',
    'alter table transfers disable trigger transfers_append_only',
    'drop trigger transfers_append_only on transfers',
  ])('I2: %s', async (statement) => {
    named(await brokenBy(statement), 'I2');
  });

  it.each([
    'update accounts set usd_posted = usd_posted + 1',
    'update accounts set bundled_posted = bundled_posted + 1',
    'update accounts set vcu_posted = vcu_posted + 1',
    "delete from transfers where kind = 'grant' and currency = 'usd'",
    'insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details) ' +
      "select now(), 'ghost', 'top_up', gen_random_uuid(), 'payments', 'usd', 5, now()::date, '{}'",
  ])('I3: a balance that differs from its transfers: %s', async (statement) => {
    named(await brokenBy(statement), 'I3 stored balance');
  });

  it('I3: diem that differs from its transfers', async () => {
    named(await brokenBy('update diem_days set posted = posted + 1'), 'I3 stored diem');
    // All diem of the day was spent, so its sum is complete; only its grant lacks a day.
    named(await brokenBy('delete from diem_days'), 'I12');
  });

  it.each([
    'update key_days set usd_used = usd_used + 1',
    'update key_days set diem_used = diem_used + 1',
    'delete from key_days',
  ])('I3: usage that differs from its transfers: %s', async (statement) => {
    named(await brokenBy(statement), 'I3 stored usage');
  });

  it('I3: usage of a parent without that of its children', async () => {
    named(await brokenBy(`update key_days set usd_used = usd_used - 5 where key_id = '${key}'`), 'I3 stored usage');
  });

  it('I13: a charge that counts for another parent than the one of its key', async () => {
    named(await brokenBy(`update operations set parent_key_id = null where operation_id = '${byChild}'`), 'I13');
    named(await brokenBy(`update operations set parent_key_id = '${key}' where operation_id = '${charged}'`), 'I13');
  });

  it('I4: a balance below zero', async () => {
    const found = await brokenBy(
      dropChecks('accounts', 'accounts_check'),
      'update accounts set usd_posted = usd_held - 1 where usd_held > 0',
    );
    named(found, 'I4 posted');
  });

  it.each([
    'update accounts set usd_held = usd_held + 1',
    'update diem_days set held = held + 1, posted = posted + 1',
    'update key_days set usd_held = usd_held + 1',
    'update key_days set diem_held = diem_held + 1',
    "delete from operations where state = 'held'",
  ])('I4: held amounts that differ from the holds: %s', async (statement) => {
    named(await brokenBy(statement), 'I4 what is held');
  });

  it('I5: a charge that moved twice', async () => {
    const found = await brokenBy(
      `insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
       select created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details
       from transfers where operation_id = '${charged}' and currency = 'usd'`,
    );
    named(found, 'I5 an operation', 'I3 stored balance', 'I3 stored usage');
  });

  it('I5: a charge whose transfers are missing, and transfers without an operation', async () => {
    named(await brokenBy(`update operations set usd = usd + 1 where operation_id = '${charged}'`), 'I5 an operation');
    named(await brokenBy(`delete from operations where operation_id = '${charged}'`), 'I5 an operation');
  });

  it.each([
    ['above its charge', "update operations set usd = usd + 1 where kind = 'refund'"],
    ['of another account', `update operations set account_id = gen_random_uuid() where kind = 'refund'`],
    ['of another day', "update operations set day = day - 1 where kind = 'refund'"],
    ['that its charge does not know', "update operations set counterpart = null where kind = 'charge'"],
    ['that does not exist', "delete from operations where kind = 'refund'"],
  ])('I5: a refund %s', async (_name, statement) => {
    named(await brokenBy(statement), 'I5 a charge has');
  });

  it('I5: a second refund of the same charge', async () => {
    const found = await brokenBy(
      `insert into operations (operation_id, kind, account_id, state, day, key_id, diem, bundled, usd, counterpart, created_at)
       select operation_id || '2', kind, account_id, state, day, key_id, 0, 0, 0, counterpart, created_at
       from operations where kind = 'refund'`,
    );
    named(found, 'I5 a charge has');
  });

  it('I6: a charge that did not take its price', async () => {
    named(
      await brokenBy(`update operations set price_usd = price_usd + 1 where operation_id = '${charged}'`),
      'I6 a charge',
    );
  });

  it('I6: a released hold that took something', async () => {
    const found = await brokenBy(
      `update operations set state = 'released', usd = 1, diem = 0, bundled = 0 where operation_id = '${held}'`,
    );
    named(found, 'I6 a charge', 'I5 an operation', 'I11');
  });

  it('I8: a key above its limit', async () => {
    // Spent under the limit that is now set: only a gap in the admission could explain it.
    named(await brokenBy('update api_keys set limit_usd = 10'), 'I8');
    named(await brokenBy('update api_keys set limit_usd = 500, limit_diem = 1'), 'I8');
  });

  it('I8: a key within its limit by its own charges, but not with those of its children', async () => {
    // Its own charges are 10 and 30, its child's is 5: all usd but the 4 diem of the first.
    expect(await brokenBy(`update api_keys set limit_usd = 41, limit_diem = null where id = '${key}'`)).toEqual([]);
    named(await brokenBy(`update api_keys set limit_usd = 40 where id = '${key}'`), 'I8');
  });

  it('no error in a key whose limit was lowered below its spending', async () => {
    await world.setLimits(key, { usd: 1n, diem: 1n, period: 'LIFETIME' });
    expect(await checkLedger(world.pool)).toEqual([]);
  });

  it('I9: a charge or transfer in another day than its admission', async () => {
    named(await brokenBy(`update operations set day = day + 1 where operation_id = '${charged}'`), 'I9');
    named(await brokenBy(`update transfers set day = day + 1 where operation_id = '${refunded}'`), 'I9');
  });

  it('I11: a hold long after its expiry', async () => {
    named(await brokenBy("update holds set expires_at = now() - interval '1 hour'"), 'I11');
  });

  it('I11: a hold of an ended operation, and a held operation without its hold', async () => {
    named(await brokenBy(`update holds set operation_id = '${charged}'`), 'I11');
    named(await brokenBy('delete from holds'), 'I11');
  });

  it('I12: a diem day without its grant, with two, or with another amount', async () => {
    named(await brokenBy('update diem_days set allocation = allocation + 1'), 'I12');
    named(
      await brokenBy(
        `insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
         select created_at, operation_id || 'x', kind, account_id, house, currency, amount, day, details
         from transfers where currency = 'diem' and kind = 'grant'`,
      ),
      'I12',
      'I5 an operation',
    );
    named(await brokenBy("delete from operations where kind = 'grant'"), 'I12');
  });

  it("I13: an operation paid by two accounts, or with another account's key", async () => {
    named(
      await brokenBy(
        `update transfers set account_id = '${other}' where operation_id = '${charged}' and currency = 'usd'`,
      ),
      'I13',
    );
    named(await brokenBy(`update operations set account_id = '${other}' where operation_id = '${charged}'`), 'I13');
  });
});

describe('jobs', () => {
  async function job(
    state: string,
    chargeId: string,
    more: { price?: bigint; account?: string; key?: string | null } = {},
  ): Promise<void> {
    const ended = ['failed', 'timed_out', 'cancelled'].includes(state);
    await world.owner.query(
      `insert into jobs (queue_id, account_id, key_id, kind, model_id, provider, state, request_id, duration_seconds,
         price_usd_nano, charge_operation_id, charge_id, refund_id, output_key, deadline_at)
       values (gen_random_uuid(), $1, $6, 'voice-changer', 'm', 'p', $2, 'r', 1, $3, $4, $4::uuid::text, $5, 'out', now())`,
      [
        ...[more.account ?? account, state, more.price?.toString() ?? '10', chargeId],
        ...[ended ? `${chargeId}:r` : null, more.key === undefined ? key : more.key],
      ],
    );
  }
  const findings = async () => (await checkLedger(world.pool)).map((finding) => finding.invariant);

  it.each(['accepted', 'submitted', 'stored', 'deleted', 'expired'])(
    'I6: that are %s keep their charge',
    async (state) => {
      await job(state, charged);
      expect(await findings()).toEqual([]);
      await job(state, refunded, { price: 20n });
      named(await findings(), 'I6 a job');
    },
  );

  it.each(['failed', 'timed_out', 'cancelled'])('I6: that %s are refunded', async (state) => {
    await job(state, refunded, { price: 20n });
    expect(await findings()).toEqual([]);
    await job(state, charged);
    named(await findings(), 'I6 a job');
  });

  it('I6: are refunded in full', async () => {
    const partly = order(account, both(10n));
    await charge(world.pool, partly);
    const { operationId } = partly;
    await refund(world.pool, { operationId, chargeOperationId: operationId, reason: 'x', amount: both(9n) });
    await job('failed', operationId);
    named(await findings(), 'I6 a job');
  });

  it.each([
    ['at another price', () => job('stored', charged, { price: 11n })],
    ["on another account's charge", () => job('stored', charged, { account: other })],
    ['without any charge', () => job('stored', randomUUID())],
    ['on a hold', () => job('stored', held, { price: 30n })],
  ])('I6: are not sound %s', async (_name, make) => {
    await make();
    named(await findings(), 'I6 a job');
  });
});
