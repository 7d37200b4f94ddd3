/** History cannot be changed: not by the services' role, and not by accident even by the owner of the tables. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { charge } from '../../../infra/postgres/ledger.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
  await charge(world.pool, order(await world.account({ usd: 10n }), both(4n)));
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});

const CHANGES = [
  'update transfers set amount = -1',
  'delete from transfers',
  'truncate transfers',
  "update transfers set details = '{}' where false",
];

describe('transfers', () => {
  it("are written by the services' role", async () => {
    const { rows } = await world.pool.query('select current_user as role');
    expect(rows).toEqual([{ role: 'farebox_app' }]);
  });

  it.each(CHANGES)("cannot be changed by the services' role: %s", async (statement) => {
    await expect(world.pool.query(statement)).rejects.toMatchObject({ code: '42501' });
  });

  it.each(CHANGES)('cannot be changed by their owner unless the trigger is removed: %s', async (statement) => {
    await expect(world.owner.query(statement)).rejects.toThrow('append-only');
  });

  it('cannot be changed through the view `entries`', async () => {
    await expect(world.pool.query('delete from entries')).rejects.toThrow();
    await expect(world.pool.query('update entries set amount = 1')).rejects.toThrow();
  });

  it("keep their trigger against the services' role", async () => {
    await expect(world.pool.query('alter table transfers disable trigger all')).rejects.toMatchObject({
      code: '42501',
    });
    await expect(world.pool.query('drop trigger transfers_append_only on transfers')).rejects.toMatchObject({
      code: '42501',
    });
    await expect(
      world.pool.query(
        "create or replace function refuse_change() returns trigger language plpgsql as 'begin return old; end'",
      ),
    ).rejects.toMatchObject({ code: '42501' });
  });

  it('cannot be changed by switching triggers off for the session', async () => {
    await expect(world.pool.query('set session_replication_role = replica')).rejects.toMatchObject({
      code: '42501',
    });
  });
});

describe("statements beyond the services' role", () => {
  it.each([
    'delete from operations',
    'delete from accounts',
    'delete from diem_days',
    'delete from key_days',
    'drop table holds',
    'create table mine (id int)',
    "create or replace function ledger_now() returns timestamptz language sql as 'select now()'",
  ])('are refused by the database: %s', async (statement) => {
    await expect(world.pool.query(statement)).rejects.toBeInstanceOf(pg.DatabaseError);
  });
});

describe('the constraints of the tables', () => {
  it.each([
    ['a balance below what is held', 'update accounts set usd_held = usd_posted + 1'],
    ['a held amount below zero', 'update accounts set usd_held = -1'],
    [
      'a charge that gives',
      "insert into transfers select now(), 'x', 'charge', id, 'revenue', 'usd', 1, now() from accounts",
    ],
  ])('refuse %s', async (_name, statement) => {
    const complete = statement.includes('insert')
      ? `insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
         select now(), 'x', 'charge', id, 'revenue', 'usd', 1, now()::date, '{}' from accounts`
      : statement;
    await expect(world.owner.query(complete)).rejects.toMatchObject({ code: '23514' });
  });
});
