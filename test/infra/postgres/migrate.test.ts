import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { createAccount, findAccount, listAccounts, setDiemAllocation } from '../../../infra/postgres/accounts.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import { type Release, readRelease } from '../../../infra/postgres/release.ts';
import { createDatabase, services } from '../../harness/services.ts';

const RELEASE = readRelease();
const MIGRATIONS = RELEASE.migrations.map(({ name }) => name);
const FUNCTIONS = RELEASE.functions.map(({ name }) => name);
const WHOLE = { applied: MIGRATIONS, functions: FUNCTIONS };
const NOTHING = { applied: [], functions: [] };

async function withOwner<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function emptyDatabase(): Promise<string> {
  const name = `empty_${randomUUID().slice(0, 8)}`;
  await withOwner(services().databaseUrl, (client) => client.query(`create database ${name}`));
  const url = new URL(services().databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}

describe('the migrations', () => {
  it('are applied in order, once', async () => {
    const url = await emptyDatabase();
    expect(await migrate(url)).toEqual(WHOLE);
    expect(await migrate(url)).toEqual(NOTHING);
  });

  it('are applied by one of several concurrent processes, and all wait for it', async () => {
    const url = await emptyDatabase();
    const results = await Promise.all([1, 2, 3, 4].map(() => migrate(url)));
    expect(results.filter(({ applied }) => applied.length > 0)).toEqual([WHOLE]);
    expect(results.filter(({ applied }) => applied.length === 0)).toEqual([NOTHING, NOTHING, NOTHING]);
  });

  it('of several databases at once share one role of the cluster', async () => {
    const urls = await Promise.all([1, 2, 3, 4].map(emptyDatabase));
    await Promise.all(urls.map((url) => migrate(url)));
    for (const databaseUrl of urls) {
      const pool = openPool({ databaseUrl, applicationName: 'x' });
      expect(await checkLedger(pool)).toEqual([]);
      await pool.end();
    }
  });

  it('fail soon and with a reason when the database is unreachable', async () => {
    await expect(migrate('postgres://x:y@127.0.0.1:1/none')).rejects.toThrow('ECONNREFUSED');
  });

  it('work for an owner without superuser rights', async () => {
    const url = await emptyDatabase();
    const name = `owner_${randomUUID().slice(0, 8)}`;
    await withOwner(url, async (client) => {
      await client.query(`create role ${name} login createrole password 'secret'`);
      await client.query(`grant farebox_app to ${name}`);
      await client.query(`alter database ${new URL(url).pathname.slice(1)} owner to ${name}`);
      await client.query(`alter schema public owner to ${name}`);
    });
    const own = new URL(url);
    own.username = name;
    own.password = 'secret';
    expect(await migrate(own.href)).toEqual(WHOLE);
    const pool = openPool({ databaseUrl: own.href, applicationName: 'x' });
    expect((await pool.query('select current_user as role')).rows).toEqual([{ role: 'farebox_app' }]);
    await pool.end();
  });
});

/** The release with a further migration. */
function withMigration(name: string, text: string): Release {
  return { ...RELEASE, migrations: [...RELEASE.migrations, { name, text, digest: text }] };
}

/** The release with a function added or changed, under this version. */
function withFunction(name: string, text: string, version: number): Release {
  const others = RELEASE.functions.filter((own) => own.name !== name);
  return { ...RELEASE, functions: [...others, { name, text, digest: text }], version };
}

const clockOf = (text: string) =>
  `create or replace function ledger_now() returns timestamptz language sql as '${text}'`;
const NEXT = RELEASE.version + 1;

async function migrated(): Promise<string> {
  const url = await emptyDatabase();
  await migrate(url);
  return url;
}

const textOf = (url: string, name: string) =>
  withOwner(url, async (client) => {
    const { rows } = await client.query<{ prosrc: string }>('select prosrc from pg_proc where proname = $1', [name]);
    return rows.map(({ prosrc }) => prosrc);
  });

describe('a further migration', () => {
  it('is applied to a database that has the previous ones', async () => {
    const url = await migrated();
    const further = withMigration('0999_further', 'create table further (id int)');
    expect(await migrate(url, further)).toEqual({ applied: ['0999_further'], functions: [] });
    expect(await migrate(url, further)).toEqual(NOTHING);
    await withOwner(url, (client) => client.query('select from further'));
  });

  it('leaves nothing behind when it fails', async () => {
    const url = await migrated();
    const failing = withMigration('0999_failing', 'create table further (id int); select 1 / 0');
    await expect(migrate(url, failing)).rejects.toThrow('division by zero');
    await expect(withOwner(url, (client) => client.query('select from further'))).rejects.toThrow('further');
    expect(await migrate(url)).toEqual(NOTHING);
  });

  it('is refused with a lower number than an applied one', async () => {
    const url = await migrated();
    await migrate(url, withMigration('0999_further', 'select 1'));
    const both = withMigration('0998_late', 'select 1');
    const further = { name: '0999_further', text: 'select 1', digest: 'select 1' };
    await expect(migrate(url, { ...both, migrations: [...both.migrations, further] })).rejects.toThrow(
      'the migration 0998_late comes before 0999_further',
    );
  });

  it('is refused when it changes after it was applied', async () => {
    const url = await migrated();
    await migrate(url, withMigration('0999_further', 'select 1'));
    await expect(migrate(url, withMigration('0999_further', 'select 2'))).rejects.toThrow(
      'the migration 0999_further was changed',
    );
  });

  it('of a newer release locks the database for an older release', async () => {
    const url = await migrated();
    await migrate(url, withMigration('0999_further', 'select 1'));
    await expect(migrate(url)).rejects.toThrow('was migrated by a newer Farebox (0999_further)');
  });

  it('that drops a function creates it again', async () => {
    const url = await migrated();
    const dropping = withMigration('0999_dropping', 'drop function ledger_listed_price');
    expect(await migrate(url, dropping)).toEqual({
      applied: ['0999_dropping'],
      functions: ['ledger_listed_price'],
    });
    expect(await textOf(url, 'ledger_listed_price')).toHaveLength(1);
  });
});

it('refuses a database of the previous layout before anything is changed', async () => {
  const url = await emptyDatabase();
  await withOwner(url, async (client) => {
    await client.query('create table farebox_migrations (id serial primary key, name text, run_on timestamp)');
    await client.query(`insert into farebox_migrations (name, run_on) values ('0001_ledger', now())`);
  });
  await expect(migrate(url)).rejects.toThrow('has the tables of an older Farebox');
  const { rows } = await withOwner(url, (client) =>
    client.query(`select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`),
  );
  expect(rows).toEqual([{ relname: 'farebox_migrations' }]);
});

describe('the functions', () => {
  it('of a new database have the text of their files', async () => {
    const url = await migrated();
    const { rows } = await withOwner(url, (client) =>
      client.query<{ proname: string }>(
        `select proname from pg_proc where pronamespace = 'public'::regnamespace order by proname collate "C"`,
      ),
    );
    expect(rows.map(({ proname }) => proname)).toEqual(FUNCTIONS);
    for (const { name, text } of RELEASE.functions) {
      const [body = ''] = await textOf(url, name);
      expect(text).toContain(body);
    }
  });

  it('are replaced by a later version, but only those with another text', async () => {
    const url = await migrated();
    const later = withFunction('ledger_now', clockOf('select now()'), NEXT);
    expect(await migrate(url, later)).toEqual({ applied: [], functions: ['ledger_now'] });
    expect(await textOf(url, 'ledger_now')).toEqual(['select now()']);
    expect(await migrate(url, later)).toEqual(NOTHING);
  });

  it('of a later version remain when an earlier release starts again', async () => {
    const url = await migrated();
    await migrate(url, withFunction('ledger_now', clockOf('select now()'), NEXT));
    expect(await migrate(url)).toEqual(NOTHING);
    expect(await textOf(url, 'ledger_now')).toEqual(['select now()']);
    // The text, and so its digest, is the first one again: only the version defines the order.
    expect(await migrate(url, { ...RELEASE, version: NEXT + 1 })).toMatchObject({
      functions: ['ledger_now'],
    });
    expect(await migrate(url, withFunction('ledger_now', clockOf('select now()'), NEXT))).toEqual(NOTHING);
    expect(await textOf(url, 'ledger_now')).toEqual(['select clock_timestamp()']);
  });

  it('with another text under the same version are refused', async () => {
    const url = await migrated();
    const same = withFunction('ledger_now', clockOf('select now()'), RELEASE.version);
    await expect(migrate(url, same)).rejects.toThrow('raise the version');
  });

  it.each([
    ['a text without meaning', 'create function odd() returns int language sql as $$ select nothing $$', 'nothing'],
    [
      'two signatures',
      'create function odd() returns int language sql as $$ select 1 $$;' +
        'create function odd(int) returns int language sql as $$ select 1 $$',
      'odd has two signatures',
    ],
  ])('with %s are refused, and nothing changes', async (_what, text, reason) => {
    const url = await migrated();
    await expect(migrate(url, withFunction('odd', text, NEXT))).rejects.toThrow(reason);
    expect(await textOf(url, 'odd')).toEqual([]);
    expect(await migrate(url)).toEqual(NOTHING);
  });

  it('cannot be changed without a new version', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'farebox-release-'));
    cpSync(fileURLToPath(new URL('../../../infra/postgres/', import.meta.url)), folder, { recursive: true });
    expect(readRelease(folder)).toEqual(RELEASE);
    writeFileSync(path.join(folder, 'functions/ledger/ledger_now.sql'), clockOf('select now()'));
    expect(() => readRelease(folder)).toThrow(`functions of version ${RELEASE.version} were changed: write "${NEXT} `);
    rmSync(folder, { recursive: true });
  });
});

describe('accounts', () => {
  it('are created empty, found, listed in order, and given a daily allocation', async () => {
    const pool = openPool({ databaseUrl: await createDatabase(), applicationName: 'accounts-test' });
    try {
      const first = await createAccount(pool, { name: 'Ada', diemDailyAllocation: 10n });
      const second = await createAccount(pool, { name: 'Grace' });
      expect(first).toMatchObject({ name: 'Ada', diemDailyAllocation: 10n, status: 'active' });
      expect(second.diemDailyAllocation).toBe(0n);
      expect(await findAccount(pool, first.id)).toEqual(first);
      expect(await findAccount(pool, randomUUID())).toBeUndefined();
      expect(await listAccounts(pool)).toEqual([first, second]);
      expect(await listAccounts(pool, 1)).toEqual([first]);
      expect(await setDiemAllocation(pool, second.id, 5n)).toBe(true);
      expect(await setDiemAllocation(pool, randomUUID(), 5n)).toBe(false);
      expect(await findAccount(pool, second.id)).toMatchObject({ diemDailyAllocation: 5n });
    } finally {
      await pool.end();
    }
  });

  it('accept an explicit id once', async () => {
    const pool = openPool({ databaseUrl: await createDatabase(), applicationName: 'accounts-test' });
    try {
      const id = randomUUID();
      expect(await createAccount(pool, { name: 'Demo', id })).toMatchObject({ id });
      await expect(createAccount(pool, { name: 'Demo', id })).rejects.toMatchObject({ code: '23505' });
    } finally {
      await pool.end();
    }
  });

  it.each(['', 'x'.repeat(201)])('refuse a name of invalid length', async (name) => {
    const pool = openPool({ databaseUrl: await createDatabase(), applicationName: 'accounts-test' });
    await expect(createAccount(pool, { name })).rejects.toMatchObject({ code: '23514' });
    await pool.end();
  });
});
