import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import {
  createAccount,
  findAccount,
  listAccounts,
  setDiemAllocation,
} from '../../../infra/postgres/accounts.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import { createDatabase, services } from '../../harness/services.ts';

const FILES = readdirSync(new URL('../../../infra/postgres/migrations/', import.meta.url))
  .map((file) => file.replace('.sql', ''))
  .sort();

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
    expect(await migrate(url)).toEqual({ applied: FILES });
    expect(await migrate(url)).toEqual({ applied: [] });
  });

  it('asked for by several processes at once are applied by one, and all wait for it', async () => {
    const url = await emptyDatabase();
    const results = await Promise.all([1, 2, 3, 4].map(() => migrate(url)));
    expect(results.map((result) => result.applied.length).sort()).toEqual([0, 0, 0, FILES.length]);
  });

  it('of several databases at once share the one role of the cluster', async () => {
    const urls = await Promise.all([1, 2, 3, 4].map(emptyDatabase));
    await Promise.all(urls.map((url) => migrate(url)));
    for (const databaseUrl of urls) {
      const pool = openPool({ databaseUrl, applicationName: 'x' });
      expect(await checkLedger(pool)).toEqual([]);
      await pool.end();
    }
  });

  it('that cannot be reached fail soon, with the reason', async () => {
    await expect(migrate('postgres://x:y@127.0.0.1:1/none')).rejects.toThrow('ECONNREFUSED');
  });

  it('work for an owner who is no superuser', async () => {
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
    expect(await migrate(own.href)).toEqual({ applied: FILES });
    const pool = openPool({ databaseUrl: own.href, applicationName: 'x' });
    expect((await pool.query('select current_user as role')).rows).toEqual([{ role: 'farebox_app' }]);
    await pool.end();
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

  it('may be given an id, once', async () => {
    const pool = openPool({ databaseUrl: await createDatabase(), applicationName: 'accounts-test' });
    try {
      const id = randomUUID();
      expect(await createAccount(pool, { name: 'Demo', id })).toMatchObject({ id });
      await expect(createAccount(pool, { name: 'Demo', id })).rejects.toMatchObject({ code: '23505' });
    } finally {
      await pool.end();
    }
  });

  it.each(['', 'x'.repeat(201)])('refuse a name of a wrong length', async (name) => {
    const pool = openPool({ databaseUrl: await createDatabase(), applicationName: 'accounts-test' });
    await expect(createAccount(pool, { name })).rejects.toMatchObject({ code: '23514' });
    await pool.end();
  });
});
