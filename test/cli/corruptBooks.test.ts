/** Damage of every kind, planted in sound books with the protection of the tables switched off: the check names it and exits 1. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { query } from '../../infra/stack/parts/postgres.ts';
import { createDatabase, services } from '../harness/services.ts';
import { databaseOf } from '../harness/template.ts';
import { runFarebox } from './runFarebox.ts';
import { type SoundBooks, writeSoundBooks } from './soundBooks.ts';

let sound: string;
let books: SoundBooks;
let copies = 0;

beforeAll(async () => {
  sound = await createDatabase();
  books = await writeSoundBooks(sound);
});

/** Copies of the sound books, each damaged once. */
async function damagedCopy(statements: readonly string[]): Promise<string> {
  const name = new URL(sound).pathname.slice(1);
  copies += 1;
  await query(services().databaseUrl, `create database ${name}_${copies} template ${name}`);
  const url = databaseOf(services().databaseUrl, `${name}_${copies}`);
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

async function checkOf(url: string, ...flags: string[]) {
  const { code, stdout } = await runFarebox(['ledger', 'check', '--json', ...flags], { DATABASE_URL: url });
  const { broken } = JSON.parse(stdout) as { broken: { invariant: string; rows: unknown[] }[] };
  return { code, broken: broken.map(({ invariant }) => invariant) };
}

/** Columns of a transfer that a planted one copies. */
const COPIED = 'operation_id, kind, account_id, house, currency, day, key_id, details';
const setDetail = (path: string, value: string) =>
  `update transfers set details = jsonb_set(details, '{${path}}', '${value}')`;

/** What is planted, the invariant that must be named, and the statements. */
const DAMAGE: [string, string, (of: SoundBooks) => string[]][] = [
  // Jobs and charges, both ways.
  [
    'a charge for a job without its job',
    'I14',
    (b) => [`delete from jobs where queue_id = '${b.storedJob}'`],
  ],
  [
    'a charge for a job that another charge pays',
    'I14',
    (b) => [`update jobs set charge_operation_id = gen_random_uuid() where queue_id = '${b.storedJob}'`],
  ],
  [
    'a job without its charge',
    'I6 a job',
    (b) => [
      `delete from transfers where operation_id = '${b.storedJob}'`,
      `delete from operations where operation_id = '${b.storedJob}'`,
      `update accounts set usd_posted = usd_posted + 1000 where id = '${b.account}'`,
      `update key_days set usd_used = usd_used - 1000 where key_id = '${b.key}'`,
    ],
  ],
  [
    'a failed job that was not refunded',
    'I6 a job',
    (b) => [`update jobs set state = 'failed', refund_id = 'r' where queue_id = '${b.storedJob}'`],
  ],
  [
    'a refunded job whose output is there',
    'I6 a job',
    (b) => [`update jobs set state = 'stored', refund_id = null where queue_id = '${b.failedJob}'`],
  ],
  [
    'a refunded job that names another refund',
    'I6 a job',
    (b) => [`update jobs set refund_id = 'another' where queue_id = '${b.failedJob}'`],
  ],
  [
    "a job on another account's charge",
    'I6 a job',
    (b) => [`update jobs set account_id = '${b.other}' where queue_id = '${b.storedJob}'`],
  ],
  [
    "a job on another key's charge",
    'I6 a job',
    (b) => [`update jobs set key_id = null where queue_id = '${b.storedJob}'`],
  ],
  [
    'a job 7 days past its deadline, neither stored nor refunded',
    'I11 no job',
    (b) => [`update jobs set deadline_at = now() - interval '7 days' where queue_id = '${b.runningJob}'`],
  ],
  // Payments from a chain.
  [
    "a payment of 5 USDC, credited as 500 USD to somebody else's wallet",
    'I7 a payment',
    (b) => [
      `update top_ups set credited_units = 500000000, credited_nano = 500000000000, account_id = '${b.other}'`,
      `update operations set usd = 500000000000, account_id = '${b.other}' where operation_id = '${b.payment}'`,
      `update transfers set amount = 500000000000, account_id = '${b.other}' where operation_id = '${b.payment}'`,
      `update accounts set usd_posted = usd_posted + 500000000000 where id = '${b.other}'`,
      `update accounts set usd_posted = 0 where id = '${b.wallet}'`,
    ],
  ],
  [
    'a payment credited with more than was paid',
    'I7 a payment',
    (b) => [
      'update top_ups set credited_units = 6000000, credited_nano = 6000000000',
      `update operations set usd = 6000000000 where operation_id = '${b.payment}'`,
      `update transfers set amount = 6000000000 where operation_id = '${b.payment}'`,
      `update accounts set usd_posted = 6000000000 where id = '${b.wallet}'`,
    ],
  ],
  ['a payment of another decimal', 'I7 a payment', () => ['update top_ups set decimals = 7']],
  [
    'a wallet whose account is not its own',
    'I7 a payment',
    (b) => [`update wallet_accounts set account_id = '${b.other}'`],
  ],
  ['a credit without its payment', 'I5 a payment', () => ['delete from top_ups']],
  [
    'a payment said to be credited without its credit',
    'I5 a payment',
    (b) => [
      `delete from transfers where operation_id = '${b.payment}'`,
      `delete from operations where operation_id = '${b.payment}'`,
      `update accounts set usd_posted = 0 where id = '${b.wallet}'`,
    ],
  ],
  [
    'a credit for a payment that failed',
    'I5 a payment',
    () => ["update top_ups set state = 'failed', credited_units = null, credited_nano = null"],
  ],
  // What an entry says it sold.
  [
    'units that have nothing to do with the charge',
    'I10 units',
    (b) => [`${setDetail('units', '"30"')} where operation_id = '${b.rpc}'`],
  ],
  [
    'a price per unit that has nothing to do with the charge',
    'I10 units',
    (b) => [`${setDetail('pricePerUnitUsd', '"70"')} where operation_id = '${b.rpc}'`],
  ],
  [
    'units of a text call that are not its tokens',
    'I10 the units',
    (b) => [`${setDetail('units', '"0.3"')} where operation_id = '${b.chat}'`],
  ],
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
  [
    'a refund of another day',
    'I5 a charge has',
    () => ["update operations set day = day - 1 where kind = 'refund'"],
  ],
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
  [
    'a charge of another day',
    'I9',
    (b) => [`update operations set day = day + 1 where operation_id = '${b.rpc}'`],
  ],
  [
    'a transfer of another day',
    'I9',
    (b) => [`update transfers set day = day + 1 where operation_id = '${b.rpc}'`],
  ],
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
  [
    'a hold that was forgotten',
    'I11 no hold',
    () => ["update holds set expires_at = now() - interval '1 hour'"],
  ],
  ['a held operation without its hold', 'I11 no hold', () => ['delete from holds']],
  [
    'a hold of an operation that is over',
    'I11 no hold',
    (b) => [`update holds set operation_id = '${b.rpc}'`],
  ],
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
  // What keeps the past as it is.
  ['a right to change transfers', 'I2', () => ['grant update (amount) on transfers to farebox_app']],
  ['a right to remove seals', 'I2', () => ['grant delete on sealed_days to farebox_app']],
  [
    'an audit trail that can be changed',
    'I2',
    () => ['drop trigger audit_events_append_only on audit_events'],
  ],
  [
    'transfers that were moved away before their days were sealed',
    'I16',
    () => ['alter table transfers detach partition transfers_earlier'],
  ],
];

describe('farebox ledger check', () => {
  afterAll(() => expect(copies).toBeGreaterThan(DAMAGE.length));

  it('finds sound books sound, and exits 0', async () => {
    expect(await checkOf(await damagedCopy([]))).toEqual({ code: 0, broken: [] });
  });

  it.each(DAMAGE)('finds %s: %s', async (_title, invariant, plant) => {
    const { code, broken } = await checkOf(await damagedCopy(plant(books)));
    expect(broken.filter((name) => name.startsWith(invariant))).not.toEqual([]);
    expect(code).toBe(1);
  });
});
