/** Archived months of transfers: the check uses their seals and says so, and refuses months without a seal. */
import pg from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { charge, refund } from '../../../infra/postgres/ledger.ts';
import { runLedgerCheck } from '../../../infra/postgres/ledgerCheck.ts';
import { usagePage } from '../../../infra/postgres/usageHistory.ts';
import { walletTransactions } from '../../../infra/postgres/walletTransactions.ts';
import { copyDatabase } from '../../harness/services.ts';
import { both, createLedgerWorld, type LedgerWorld, order, storedJob } from './ledgerWorld.ts';

const now = new Date();
/** Start of the month this many months from now. */
const monthAt = (ahead: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead));
const dayAt = (ahead: number) => monthAt(ahead).toISOString().slice(0, 10);
const partitionAt = (ahead: number) => `transfers_${monthAt(ahead).toISOString().slice(0, 7).replace('-', '_')}`;

let world: LedgerWorld;
let account: string;
let key: string;
/** Charges of last month, of this month, and of next month. */
let charges: string[];

/** Template databases, which each test copies. */
let books: { open: string; sealed: string; archived: string };

beforeAll(async () => {
  world = await createLedgerWorld();
  await goTo(-1);
  account = await world.account({ usd: 1_000n, bundled: 20n, diem: 7n });
  key = await world.key(account, { usd: 900n, period: 'MONTH' });
  await storedJob(world, { accountId: account, keyId: key });
  charges = [];
  for (const [month, amount] of [30n, 40n, 50n].entries()) {
    await goTo(month - 1);
    const sold = order(account, both(amount), { keyId: key });
    await charge(world.pool, sold);
    charges.push(sold.operationId);
  }
  await world.close();
  const open = world.databaseUrl;
  await openCopy(open);
  await seal();
  await world.close();
  const sealed = world.databaseUrl;
  await openCopy(sealed);
  await archive('transfers_earlier');
  expect((await check(true)).broken).toEqual([]);
  await world.close();
  books = { open, sealed, archived: world.databaseUrl };
});
afterEach(() => world.close());

async function openCopy(databaseUrl: string): Promise<void> {
  world = await createLedgerWorld(8, await copyDatabase(databaseUrl));
}

/** Day of the first charge and the job. */
const dayBefore = new Date(monthAt(0).getTime() - 5 * 86_400_000).toISOString().slice(0, 10);

/** Sets the clock to five days before the end of a month. */
async function goTo(month: number): Promise<void> {
  await world.setClock(new Date(monthAt(month + 1).getTime() - 5 * 86_400_000).toISOString());
}

const seal = () => runLedgerCheck(world.pool, { seal: true });
const check = (full: boolean) => runLedgerCheck(world.pool, { full });

/** Moves partitions into another schema, which is as good as another server. */
async function archive(...partitions: string[]): Promise<void> {
  await world.owner.query('create schema if not exists archive');
  for (const partition of partitions) {
    await world.owner.query(`alter table transfers detach partition ${partition} concurrently`);
    await world.owner.query(`alter table ${partition} set schema archive`);
  }
}

async function bringBack(partition: string, bounds: string): Promise<void> {
  await world.owner.query(`alter table archive.${partition} set schema public`);
  await world.owner.query(`alter table transfers attach partition ${partition} for values ${bounds}`);
}

/** Runs the statement without the protection of the tables. */
async function plant(statement: string): Promise<void> {
  const client = new pg.Client(world.databaseUrl);
  await client.connect();
  try {
    await client.query('set session_replication_role = replica');
    await client.query(statement);
  } finally {
    await client.end();
  }
}

describe.each([false, true])('a check (full: %s)', (full) => {
  it('passes without the rows of sealed months, and reports when the remaining rows begin', async () => {
    await openCopy(books.sealed);
    await archive('transfers_earlier', partitionAt(0));
    expect(await check(full)).toEqual({ broken: [], sealed: [], archivedUntil: dayAt(1) });
    await goTo(3);
    await charge(world.pool, order(account, both(5n), { keyId: key }));
    const { broken, sealed, archivedUntil } = await seal();
    expect([broken, sealed.length > 20, archivedUntil]).toEqual([[], true, dayAt(1)]);
    expect((await check(full)).broken).toEqual([]);
  });

  it('finds damage to the remaining data of an archived month', async () => {
    await openCopy(books.sealed);
    await archive('transfers_earlier', partitionAt(0));
    await plant('update accounts set usd_posted = usd_posted + 1');
    expect((await check(full)).broken).toMatchObject([{ invariant: expect.stringMatching(/^I3 stored balance/) }]);
  });

  it.each<[string, () => Promise<void>]>([
    [
      'a month that was not sealed',
      async () => {
        await openCopy(books.open);
        await archive('transfers_earlier', partitionAt(0));
      },
    ],
    [
      'a month behind the last seal',
      async () => {
        await openCopy(books.open);
        await goTo(0);
        await seal();
        await archive('transfers_earlier', partitionAt(0));
      },
    ],
    [
      'a month between others',
      async () => {
        await openCopy(books.sealed);
        await archive(partitionAt(0));
      },
    ],
    [
      'the time to come',
      async () => {
        await openCopy(books.sealed);
        await archive('transfers_later');
      },
    ],
  ])('reports %s', async (_name, act) => {
    await act();
    const { broken } = await check(full);
    expect(broken.map(({ invariant }) => invariant)).toContainEqual(expect.stringMatching(/^I16/));
  });
});

describe('a full check', () => {
  it.each([
    'update sealed_sums set amount = amount + 1',
    'update sealed_balances set usd = usd + 1',
    "update sealed_days set sums_digest = sha256('x')",
  ])('compares the sums of archived days with their seals: %s', async (damage) => {
    await openCopy(books.archived);
    await plant(`${damage} where day < '${dayAt(0)}'`);
    expect((await check(true)).broken).toContainEqual(
      expect.objectContaining({ invariant: expect.stringMatching(/^I15/) }),
    );
  });

  it.each([
    ['a removed operation', 'I15 a sealed day', () => `delete from operations where operation_id = '${charges[0]}'`],
    [
      'a changed operation',
      'I15 a sealed day',
      () => `update operations set usd = usd - 1, price_usd = price_usd - 1 where operation_id = '${charges[0]}'`,
    ],
    [
      'an operation marked as refunded',
      'I5 a charge has',
      () => `update operations set counterpart = 'x' where operation_id = '${charges[0]}'`,
    ],
    ['a removed job', 'I15 a sealed day', () => `delete from jobs`],
    ...['transfers = 0', 'operations = 0', 'jobs = 7', 'transfers_hash = 1'].map(
      (change): [string, string, () => string] => [
        `a seal with ${change}`,
        'I15 seals',
        () => `update sealed_days set ${change} where day = '${dayBefore}'`,
      ],
    ),
    [
      'sums that are not those of the day',
      'I15 a sealed day',
      () => `update sealed_days set sums = '{}' where day = '${dayBefore}'`,
    ],
  ])('finds %s of an archived month', async (_name, invariant, damage) => {
    await openCopy(books.archived);
    await plant(damage());
    expect((await check(true)).broken).toContainEqual(
      expect.objectContaining({ invariant: expect.stringContaining(invariant) }),
    );
  });

  it('verifies a restored month against its seal', async () => {
    await openCopy(books.sealed);
    await archive('transfers_earlier', partitionAt(0));
    await bringBack(partitionAt(0), `from ('${dayAt(0)} 00:00Z') to ('${dayAt(1)} 00:00Z')`);
    expect(await check(true)).toEqual({ broken: [], sealed: [], archivedUntil: dayAt(0) });
    await plant(`update archive.transfers_earlier set amount = amount - 1 where kind = 'charge'`);
    await bringBack('transfers_earlier', `from (minvalue) to ('${dayAt(0)} 00:00Z')`);
    const { broken, archivedUntil } = await check(true);
    expect(archivedUntil).toBeUndefined();
    expect(broken.map(({ invariant }) => invariant)).toContainEqual(expect.stringMatching(/^I15/));
  });
});

describe('an archived month', () => {
  beforeEach(async () => {
    await openCopy(books.sealed);
    await archive('transfers_earlier', partitionAt(0));
  });

  it('still lets its charge be repeated and refunded once', async () => {
    const again = order(account, both(30n), { keyId: key, operationId: charges[0] as string });
    expect(await charge(world.pool, again)).toMatchObject({ replayed: true });
    const undo = { operationId: 'late', chargeOperationId: charges[0] as string, reason: 'x' };
    expect(await refund(world.pool, undo)).toMatchObject({ replayed: false });
    expect(await refund(world.pool, undo)).toMatchObject({ replayed: true });
    for (const full of [false, true]) expect((await check(full)).broken).toEqual([]);
  });

  it('is followed by pages of entries with unchanged balances', async () => {
    const range = { accountId: account, from: null, to: null, currency: null };
    const page = await usagePage(world.pool, range, { horizon: String(2n ** 40n), after: null, limit: 100 });
    expect(page[0]?.at.slice(0, 7)).toBe(dayAt(1).slice(0, 7));
    const transactions = await walletTransactions(world.pool, { accountId: account, limit: 100, offset: 0 });
    const left = (await world.balance(account)).usd + (await world.balance(account)).bundled;
    expect(transactions[0]?.balanceAfterNano).toBe(left);
  });

  it('accepts no new rows', async () => {
    await goTo(0);
    await expect(charge(world.pool, order(account, both(1n)))).rejects.toThrow();
  });
});
