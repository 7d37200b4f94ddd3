/** The operator suspends, resumes and erases accounts. Erasure removes personal data, never the books. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findKey, hashSecret } from '../../infra/postgres/keys.ts';
import { createDatabase } from '../harness/services.ts';
import { runFarebox } from './runFarebox.ts';
import { type SoundBooks, writeSoundBooks } from './soundBooks.ts';

let environment: Record<string, string>;
let books: SoundBooks;
let owner: pg.Pool;

beforeAll(async () => {
  const url = await createDatabase();
  environment = { DATABASE_URL: url };
  books = await writeSoundBooks(url);
  owner = new pg.Pool({ connectionString: url, max: 2 });
});
afterAll(() => owner?.end());

const SECRET = 'FAREBOX_INFERENCE_KEY_of-this-test';
const PERSONAL = 'Ada Lovelace, Marylebone';

async function act(name: string, id: string) {
  const { code, stdout, stderr } = await runFarebox(['accounts', name, id, '--json'], environment);
  return { code, ...(code === 0 ? { status: JSON.parse(stdout).status } : { stderr }) };
}

/** Writes personal data to every table that may contain it. */
async function writePersonalData(account: string): Promise<void> {
  await owner.query('update accounts set name = $2 where id = $1', [account, PERSONAL]);
  const { rows } = await owner.query<{ id: string }>(
    `insert into api_keys (account_id, secret_hash, key_type, last6, description) values ($1, $2, 'INFERENCE', 'abcdef', $3)
      returning id`,
    [account, hashSecret(SECRET), PERSONAL],
  );
  await owner.query(
    `insert into audit_events (account_id, actor, action, target_id, changes)
      values ($1, 'operator', 'key.create', $2, $3)`,
    [account, rows[0]?.id, { description: PERSONAL, keyType: 'INFERENCE' }],
  );
  const gift = ['credit', 'grant', '--amount', '1', '--account', account, '--note', `goodwill for ${PERSONAL}`];
  expect(await runFarebox(gift, environment)).toMatchObject({ code: 0 });
  await owner.query(
    `insert into audit_events (account_id, actor, action, target_id, changes)
      values ($1, 'operator', 'account.create', 'x', $2)`,
    [account, { notes: PERSONAL, name: PERSONAL }],
  );
  await owner.query(`insert into job_webhooks (queue_id, account_id, url, events) values ($1, $2, $3, '{stored}')`, [
    books.storedJob,
    account,
    `https://example.com/${PERSONAL}`,
  ]);
  await owner.query(
    `insert into cloned_voices (id, account_id, model_id, service_voice, expires_at)
      values ('vv_' || md5('x'), $1, 'm', $2, now() + interval '1 day')`,
    [account, PERSONAL],
  );
  await owner.query('update jobs set failure_message = $2, suggested_prompt = $2 where account_id = $1', [
    account,
    PERSONAL,
  ]);
  await owner.query(`insert into job_events (queue_id, event, detail) values ($1, 'failed', $2)`, [
    books.failedJob,
    PERSONAL,
  ]);
}

/** Names the tables that contain the text. A partition counts as its table. */
async function tablesWith(text: string): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `select relname as name from pg_class
      where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace`,
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const { rows: hits } = await owner.query(`select from ${name} t where t::text like $1 limit 1`, [`%${text}%`]);
    if (hits.length > 0) found.push(name);
  }
  return found.sort();
}

describe('farebox accounts', () => {
  it('suspend refuses the keys of the account, and resume accepts them again', async () => {
    await writePersonalData(books.account);
    const isActive = async () => (await findKey(owner, hashSecret(SECRET)))?.accountActive;
    expect(await isActive()).toBe(true);
    expect(await act('suspend', books.account)).toEqual({ code: 0, status: 'suspended' });
    expect(await isActive()).toBe(false);
    expect(await act('suspend', books.account)).toEqual({ code: 0, status: 'suspended' });
    expect(await act('resume', books.account)).toEqual({ code: 0, status: 'active' });
    expect(await isActive()).toBe(true);
  });

  it('suspend notifies every process with its commit', async () => {
    const client = new pg.Client({ connectionString: environment.DATABASE_URL });
    await client.connect();
    try {
      const told = new Promise((resolve) => client.on('notification', ({ payload }) => resolve(payload)));
      await client.query('listen farebox_keys');
      await act('suspend', books.other);
      expect(await told).toBe(`account:${books.other}`);
    } finally {
      await client.end();
    }
  });

  it('erase is refused while the account is active or has calls or jobs in flight', async () => {
    const refused = await act('erase', books.account);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('suspend it first') });
    await act('suspend', books.account);
    expect(await act('erase', books.account)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('under way'),
    });
  });

  it('erase removes the personal data everywhere, keeps the books sound, and is final', async () => {
    await owner.query('select * from ledger_resolve($1, $2, $3, $3, $4)', [[books.held], ['released'], [0], [null]]);
    await owner.query(`update jobs set state = 'stored' where queue_id = $1`, [books.runningJob]);
    expect(await tablesWith('Lovelace')).toEqual([
      ...['accounts', 'api_keys', 'audit_events', 'cloned_voices', 'job_events', 'job_webhooks', 'jobs'],
    ]);
    const entries = 'select md5(string_agg(t::text, null order by id)) as digest from transfers t';
    const before = await owner.query(entries);
    expect(await act('erase', books.account)).toEqual({ code: 0, status: 'suspended' });
    expect(await tablesWith('Lovelace')).toEqual([]);
    expect((await owner.query(entries)).rows).toEqual(before.rows);
    expect(await findKey(owner, hashSecret(SECRET))).toMatchObject({ revoked: true, accountActive: false });
    expect((await runFarebox(['ledger', 'check'], environment)).code).toBe(0);
    expect(await act('resume', books.account)).toMatchObject({ code: 2 });
    await expect(owner.query(`update audit_events set changes = '{}'`)).rejects.toThrow('append-only');
  });

  it.each(['suspend', 'resume', 'erase'])('%s of an unknown account is an error', async (name) => {
    const id = randomUUID();
    expect(await act(name, id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`no account ${id}`),
    });
  });
});
