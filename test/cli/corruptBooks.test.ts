/** Damage of every kind, planted in sound books without the protection of the tables: the check must name it. */
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { runLedgerCheck } from '../../infra/postgres/ledgerCheck.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { copyDatabase, createDatabase } from '../harness/services.ts';
import { COPIED, type Damage, ENTRY_DAMAGE, setDetail } from './entryDamage.ts';
import { runFarebox } from './runFarebox.ts';
import { type SoundBooks, writeSoundBooks } from './soundBooks.ts';

let sound: string;
let books: SoundBooks;

beforeAll(async () => {
  sound = await createDatabase();
  books = await writeSoundBooks(sound);
});

/** Copies the sound books and damages the copy. */
async function damagedCopy(statements: readonly string[]): Promise<string> {
  const url = await copyDatabase(sound);
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query('set session_replication_role = replica');
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
  return url;
}

/** Runs in this process. The command's own output has a separate test. */
async function brokenIn(databaseUrl: string): Promise<string[]> {
  const pool = openPool({ databaseUrl, applicationName: 'corrupt-books', max: 2 });
  try {
    return (await runLedgerCheck(pool, { seal: true })).broken.map(({ invariant }) => invariant);
  } finally {
    await pool.end();
  }
}

const DAMAGE: Damage[] = [
  ...ENTRY_DAMAGE,
  // Moved amounts.
  [
    'a charge that moved twice, in balances that agree',
    'I5 an operation',
    (b) => [
      `insert into transfers (created_at, ${COPIED}, amount) select created_at, ${COPIED}, amount from transfers
        where operation_id = '${b.rpc}'`,
      `update accounts set usd_posted = usd_posted - 1600, bundled_posted = 0 where id = '${b.account}'`,
    ],
  ],
  [
    'a charge without its transfer',
    'I5 an operation',
    (b) => [`delete from transfers where operation_id = '${b.storedJob}'`],
  ],
  [
    'a settled hold without its transfer',
    'I5 an operation',
    () => [
      `delete from transfers where operation_id in (
      select operation_id from operations where held_usd is not null and state = 'settled')`,
    ],
  ],
  [
    'a transfer without its operation',
    'I5 an operation',
    (b) => [`delete from operations where operation_id = '${b.rpc}'`],
  ],
  [
    'a top-up that is held',
    'I5 a charge is',
    (b) => [`update operations set state = 'settled' where operation_id = '${b.payment}'`],
  ],
  ['a refund of another day', 'I5 a charge has', () => ["update operations set day = day - 1 where kind = 'refund'"]],
  [
    'a refund that its charge does not know',
    'I5 a charge has',
    (b) => [`update operations set counterpart = null where operation_id = '${b.refunded}'`],
  ],
  [
    'a charge said to be refunded without a refund',
    'I5 a charge has',
    (b) => [`update operations set counterpart = 'none' where operation_id = '${b.rpc}'`],
  ],
  [
    'a refund that names another charge',
    'I5 a refund',
    (b) => [`${setDetail('charge', '"another"')} where operation_id = '${b.refunded}:r'`],
  ],
  [
    'a charge above its price',
    'I6 a charge',
    (b) => [`update operations set price_usd = price_usd - 1 where operation_id = '${b.rpc}'`],
  ],
  [
    'a released hold that took something',
    'I6 a charge',
    (b) => [
      `update operations set state = 'released', usd = 1, diem = 0, bundled = 0 where operation_id = '${b.held}'`,
    ],
  ],
  [
    'a charge that the wrong side of the house earned',
    'I7 house',
    (b) => [
      'alter table transfers drop constraint transfers_check',
      `update transfers set house = 'payments' where operation_id = '${b.rpc}'`,
    ],
  ],
  [
    'a charge that gave instead of taking',
    'I7 house',
    (b) => [
      'alter table transfers drop constraint transfers_check',
      `update transfers set amount = -amount where operation_id = '${b.rpc}'`,
    ],
  ],
  ['a charge of another day', 'I9', (b) => [`update operations set day = day + 1 where operation_id = '${b.rpc}'`]],
  ['a transfer of another day', 'I9', (b) => [`update transfers set day = day + 1 where operation_id = '${b.rpc}'`]],
  // Balances, holds and limits.
  [
    'a balance that its transfers do not explain',
    'I3 stored balance',
    (b) => [`update accounts set usd_posted = usd_posted + 1 where id = '${b.other}'`],
  ],
  [
    'a diem day that its transfers do not explain',
    'I3 stored diem',
    () => ['update diem_days set posted = posted + 1'],
  ],
  [
    'usage of a key that its charges do not explain',
    'I3 stored usage',
    (b) => [`update key_days set usd_used = usd_used - 1 where key_id = '${b.key}'`],
  ],
  [
    'more on hold than there is',
    'I4 posted',
    (b) => [
      'alter table accounts drop constraint accounts_check',
      `update accounts set usd_held = usd_posted + 1 where id = '${b.account}'`,
    ],
  ],
  [
    'a held amount without its hold',
    'I4 what is held',
    (b) => [`update accounts set usd_held = usd_held + 1 where id = '${b.account}'`],
  ],
  ['a hold that was forgotten', 'I11 no hold', () => ["update holds set expires_at = now() - interval '1 hour'"]],
  ['a held operation without its hold', 'I11 no hold', () => ['delete from holds']],
  ['a hold of an operation that is over', 'I11 no hold', (b) => [`update holds set operation_id = '${b.rpc}'`]],
  ['a key above its limit', 'I8', (b) => [`update api_keys set limit_usd = 4000 where id = '${b.key}'`]],
  [
    'a key that was above its limit before the limit was raised',
    'I8',
    (b) => [
      `insert into key_limit_changes (key_id, since, until, limit_usd, limit_diem, limit_period)
        select id, limits_changed_at, clock_timestamp(), 4000, null, 'MONTH' from api_keys where id = '${b.key}'`,
      `update api_keys set limits_changed_at = clock_timestamp() where id = '${b.key}'`,
    ],
  ],
  ['a diem day without its grant', 'I12', () => ["delete from operations where kind = 'grant' and diem > 0"]],
  [
    'a second grant of a day',
    'I12',
    () => [
      `insert into transfers (created_at, ${COPIED}, amount) select created_at, operation_id || 'x', kind, account_id, house,
      currency, day, key_id, details, amount from transfers where kind = 'grant' and currency = 'diem'`,
    ],
  ],
  [
    'a charge that another account paid',
    'I13',
    (b) => [`update transfers set account_id = '${b.other}' where operation_id = '${b.rpc}'`],
  ],
  [
    "a charge with another account's key",
    'I13',
    (b) => [`update api_keys set account_id = '${b.other}' where id = '${b.key}'`],
  ],
  [
    'a charge with a key that is not there',
    'I13',
    (b) => [`update operations set key_id = gen_random_uuid() where operation_id = '${b.rpc}'`],
  ],
  // Protection of the history.
  ['a right to change transfers', 'I2', () => ['grant update (amount) on transfers to farebox_app']],
  ['a right to remove seals', 'I2', () => ['grant delete on sealed_days to farebox_app']],
  ['an audit trail that can be changed', 'I2', () => ['drop trigger audit_events_append_only on audit_events']],
  [
    'a guard that refuses nothing',
    'I2',
    () => [
      'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return null; end $$',
    ],
  ],
  [
    'a trigger with another function',
    'I2',
    () => [
      'create function allow() returns trigger language plpgsql as $$ begin return null; end $$',
      'drop trigger audit_events_append_only on audit_events',
      `create trigger audit_events_append_only before update or delete or truncate on audit_events
        for each statement execute function allow()`,
    ],
  ],
  [
    'a trigger that guards against truncation only',
    'I2',
    () => [
      'drop trigger sealed_days_append_only on sealed_days',
      `create trigger sealed_days_append_only before truncate on sealed_days
        for each statement execute function refuse_seal_change()`,
    ],
  ],
  ['a right to write seals', 'I2', () => ['grant insert on sealed_days to farebox_app']],
  [
    'transfers that were moved away before their days were sealed',
    'I16',
    () => ['alter table transfers detach partition transfers_earlier'],
  ],
];

describe('the ledger check', () => {
  it('accepts sound books', async () => {
    expect(await brokenIn(await damagedCopy([]))).toEqual([]);
  });

  it.each(DAMAGE)('finds %s: %s', async (_title, invariant, plant) => {
    const broken = await brokenIn(await damagedCopy(plant(books)));
    expect(broken.filter((name) => name.startsWith(invariant))).not.toEqual([]);
  });
});

it.each([
  ['sound', 0],
  ['damaged', 1],
])('farebox ledger check of %s books exits %i with the findings of the check', async (state, exitCode) => {
  const [first] = DAMAGE as [Damage, ...Damage[]];
  const url = await damagedCopy(state === 'sound' ? [] : first[2](books));
  const { code, stdout } = await runFarebox(['ledger', 'check', '--json'], { DATABASE_URL: url });
  const { broken } = JSON.parse(stdout) as { broken: { invariant: string; rows: unknown[] }[] };
  expect(code).toBe(exitCode);
  expect(broken.map(({ invariant }) => invariant)).toEqual(await brokenIn(url));
  expect(broken.every(({ rows }) => rows.length > 0)).toBe(true);
});
