import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decoderIsolation } from '../../engines/child/isolation.ts';
import { findKey, hashSecret } from '../../infra/postgres/keys.ts';
import { createWorld, services, spawnWorker } from '../harness/services.ts';
import { databaseOf } from '../harness/template.ts';
import { answerOf, runFarebox } from './runFarebox.ts';

interface Account {
  id: string;
  diemDaily: string;
}
interface Key {
  id: string;
  secret: string;
  ends: string;
}

let environment: Record<string, string>;
let admin: pg.Pool;
let account: Account;

beforeAll(async () => {
  ({ environment } = await createWorld());
  admin = new pg.Pool({ connectionString: environment.DATABASE_URL, max: 2 });
  account = await answerOf<Account>(['accounts', 'create', '--name', 'Shop', '--diem-daily', '2.5'], environment);
});
afterAll(() => admin?.end());

describe('accounts command', () => {
  test('creates an account with its daily diem, and lists it', async () => {
    expect(account).toMatchObject({ name: 'Shop', status: 'active', diemDaily: '2.5' });
    const { accounts } = await answerOf<{ accounts: Account[] }>(['accounts', 'list'], environment);
    expect(accounts).toEqual([account]);
  });

  test('prints a table for people', async () => {
    const { stdout } = await runFarebox(['accounts', 'list'], environment);
    expect(stdout.split('\n')[0]).toMatch(/^ID +NAME +STATUS +DIEMDAILY +CREATEDAT$/);
    expect(stdout).toContain(account.id);
  });
});

interface Finding {
  what: string;
  state: string;
  detail: string;
}

describe('doctor command', () => {
  test('lists every part with its version, and the isolation of decoders', async () => {
    const { code, stdout } = await runFarebox(['doctor', '--json'], environment);
    const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
    expect({ code, ok, problems: findings.filter(({ state }) => state === 'problem') }).toEqual({
      code: 0,
      ok: true,
      problems: [],
    });
    const found = Object.fromEntries(findings.map(({ what, detail }) => [what, detail]));
    expect(found.postgres).toMatch(/^Postgres \d+\./);
    expect(found.redis).toMatch(/^Redis \d+\./);
    expect(found.temporal).toMatch(/^namespace \S+ answers$/);
    expect(found.s3).toMatch(/^bucket \S+ answers$/);
    expect(found.ffmpeg).toContain('ffmpeg version');
    expect(found.configuration).toBe('valid');
    expect(found.decoders).toContain(decoderIsolation().description);
    expect(found.environment).toMatch(/process(es)? of this user can read the variables of a process/);
  });

  test('exits 1 and names the part that does not answer, without its password', async () => {
    const broken = { ...environment, DATABASE_URL: 'postgres://x:hidden-pass@127.0.0.1:1/z' };
    const { code, stdout, stderr } = await runFarebox(['doctor'], broken);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^postgres +problem +\S+/m);
    expect(stdout + stderr).not.toContain('hidden-pass');
  });
});

describe('keys command', () => {
  test('shows a secret once, and stores only its hash', async () => {
    const key = await answerOf<Key>(
      ['keys', 'create', '--limit-usd', '5', '--limit-period', 'MONTH', '--description', 'ci'],
      environment,
    );
    expect(key).toMatchObject({ type: 'INFERENCE', limitUsd: '5', limitDiem: null, limitPeriod: 'MONTH' });
    expect(key.secret).toMatch(/^FAREBOX_INFERENCE_KEY_[\w-]{43}$/);
    expect(await findKey(admin, hashSecret(key.secret))).toMatchObject({
      keyId: key.id,
      accountId: account.id,
    });
    const { stdout } = await runFarebox(['keys', 'list'], environment);
    expect(stdout).toContain(key.id);
    expect(stdout).toContain(key.secret.slice(-6));
    expect(stdout).not.toContain(key.secret);
  });

  test('lists a revoked key no more, refuses it, and ignores a second revocation', async () => {
    const key = await answerOf<Key>(['keys', 'create', '--type', 'ADMIN'], environment);
    const first = await answerOf<{ revokedAt: string }>(['keys', 'revoke', key.id], environment);
    const second = await answerOf<{ revokedAt: string }>(['keys', 'revoke', key.id], environment);
    expect(second.revokedAt).toBe(first.revokedAt);
    expect(await findKey(admin, hashSecret(key.secret))).toMatchObject({ revoked: true });
    const { keys } = await answerOf<{ keys: Key[] }>(['keys', 'list'], environment);
    expect(keys.map((each) => each.id)).not.toContain(key.id);
  });

  test.each([
    [['keys', 'revoke', 'abc'], 'farebox: the id of a key is a UUID, found "abc"'],
    [['keys', 'revoke', randomUUID()], 'see `farebox keys list`'],
    [['keys', 'create', '--account', randomUUID()], 'see `farebox accounts list`'],
    [['keys', 'create', '--type', 'ROOT'], 'Allowed choices are ADMIN, INFERENCE'],
    [['keys', 'create', '--expires', '2001-01-01'], 'A date in the future'],
    [['keys', 'create', '--limit-usd', '-1'], 'A decimal number such as 12.5 is allowed'],
    [['keys', 'create', '--description', 'x'.repeat(65)], 'farebox: --description has at most 64 characters'],
  ])('refuses %j with a message, and prints nothing to stdout', async (args, words) => {
    const { code, stdout, stderr } = await runFarebox(args, environment);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(words);
    expect(stderr).not.toContain('    at ');
  });
});

describe('credit command', () => {
  test('adds a grant to the balance, and books an operation id once', async () => {
    const grant = () =>
      answerOf(
        ['credit', 'grant', '--amount', '12.5', '--operation-id', 'gift-1', '--account', account.id],
        environment,
      );
    expect(await grant()).toMatchObject({ usd: '12.5', diem: '2.5', replayed: false });
    expect(await grant()).toMatchObject({ usd: '12.5', replayed: true });
    expect(
      await answerOf(['credit', 'grant', '--amount', '0.000000001', '--currency', 'bundled'], environment),
    ).toMatchObject({ bundled: '0.000000001', usd: '12.5' });
  });

  test.each(['0', '-5', '1e3', 'ten', '0.0000000001'])('refuses the amount %s', async (amount) => {
    const { code, stderr } = await runFarebox(['credit', 'grant', `--amount=${amount}`], environment);
    expect(code).toBe(2);
    expect(stderr).toContain('is allowed.');
  });
});

describe('the audit trail', () => {
  test('records every act of the operator once, and none that was refused', async () => {
    const owner = await answerOf<Account>(['accounts', 'create', '--name', 'Audited'], environment);
    const of = ['--account', owner.id];
    const key = await answerOf<Key>(['keys', 'create', '--limit-usd', '0.5', ...of], environment);
    for (let time = 0; time < 2; time += 1) {
      await answerOf(['keys', 'revoke', key.id], environment);
      const gift = ['credit', 'grant', '--amount', '1.5', '--operation-id', `audited-${owner.id}`];
      await answerOf([...gift, '--note', 'hello', ...of], environment);
    }
    await runFarebox(['credit', 'grant', '--amount', '0', ...of], environment);
    const { rows } = await admin.query(
      'select actor, action, target_id, request_id, changes from audit_events where account_id = $1 order by id',
      [owner.id],
    );
    const act = (action: string, target_id: string, changes: object) => ({
      ...{ actor: 'operator', action, target_id, request_id: null, changes },
    });
    expect(rows).toEqual([
      act('account.create', owner.id, { name: 'Audited', diemDailyAllocation: '0' }),
      act('key.create', key.id, expect.objectContaining({ apiKeyType: 'INFERENCE', 'consumptionLimit.usd': '0.5' })),
      act('key.revoke', key.id, { revokedAt: expect.any(String) }),
      act('credit.grant', `audited-${owner.id}`, { currency: 'usd', amount: '1.5', note: 'hello' }),
    ]);
    expect(JSON.stringify(rows)).not.toContain(key.secret.slice(-43));
  });
});

describe('ledger check command', () => {
  test('exits 0 on sound books, and 1 with the rows on damaged ones', async () => {
    const good = await runFarebox(['ledger', 'check'], environment);
    expect(good).toEqual({ code: 0, stdout: 'ledger: every invariant holds\n', stderr: '' });
    await admin.query('update accounts set usd_posted = usd_posted + 1 where id = $1', [account.id]);
    const bad = await runFarebox(['ledger', 'check'], environment);
    expect(bad.code).toBe(1);
    expect(bad.stdout).toContain('BROKEN:');
    expect(bad.stdout).toContain(account.id);
    const { code, stdout } = await runFarebox(['ledger', 'check', '--json'], environment);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      broken: expect.arrayContaining([{ invariant: expect.stringContaining('I3'), rows: [expect.anything()] }]),
    });
    await admin.query('update accounts set usd_posted = usd_posted - 1 where id = $1', [account.id]);
  });
});

describe('jobs command', () => {
  test('reports that there are no jobs, and that a job is unknown', async () => {
    expect((await runFarebox(['jobs', 'list'], environment)).stdout).toBe('no jobs\n');
    const id = randomUUID();
    expect(await runFarebox(['jobs', 'show', id], environment)).toEqual({
      code: 2,
      stdout: '',
      stderr: `farebox: no job ${id}\n`,
    });
  });
});

describe('worker check command', () => {
  test('exits 1 without a worker on this host, and 0 while one polls for work', async () => {
    const { environment: empty } = await createWorld();
    const before = await runFarebox(['worker', 'check'], empty);
    expect(before).toMatchObject({ code: 1 });
    expect(before.stderr).toMatch(
      /farebox: no worker on .+ asks for work on jobs, media, providers, payments, webhooks/,
    );
    const worker = await spawnWorker({ environment: empty });
    try {
      await expect.poll(async () => (await runFarebox(['worker', 'check'], empty)).code).toBe(0);
    } finally {
      await worker.stop();
    }
  });
});

describe('migrate command', () => {
  test('prepares an empty database, a bucket and the search attributes; a second run changes nothing', async () => {
    const name = `cli_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
    await admin.query(`create database ${name}`);
    const fresh = {
      ...environment,
      DATABASE_URL: databaseOf(services().databaseUrl, name),
      S3_BUCKET: `cli-${randomUUID().slice(0, 8)}`,
    };
    const before = await runFarebox(['accounts', 'list'], fresh);
    expect(before).toMatchObject({ code: 2, stdout: '' });
    expect(before.stderr).toContain('run `farebox migrate` first');
    const first = await answerOf<{ migrations: string[]; functions: string[] }>(['migrate'], fresh);
    expect(first).toMatchObject({
      migrations: expect.arrayContaining(['0001_schema']),
      functions: expect.arrayContaining(['ledger_split']),
      bucket: fresh.S3_BUCKET,
      searchAttributes: expect.arrayContaining(['FareboxAccount', 'FareboxCostUsd']),
    });
    expect(await answerOf(['migrate'], fresh)).toMatchObject({ migrations: [], functions: [] });
    expect((await runFarebox(['accounts', 'list'], fresh)).stdout).toBe('no accounts\n');
  });
});

describe('commands beside a running npm start', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'farebox cli '));
    mkdirSync(path.join(folder, '.farebox'));
    writeFileSync(
      path.join(folder, '.farebox/dev.json'),
      JSON.stringify({
        baseUrl: 'http://127.0.0.1:8080/api/v1',
        accountId: account.id,
        keys: { admin: 'a', inference: 'b' },
        temporal: {
          address: environment.TEMPORAL_ADDRESS,
          namespace: environment.TEMPORAL_NAMESPACE,
          uiUrl: 'http://127.0.0.1:1',
        },
        databaseUrl: environment.DATABASE_URL,
        redisUrl: environment.REDIS_URL,
        s3: {
          endpoint: environment.S3_ENDPOINT,
          region: environment.S3_REGION,
          bucket: environment.S3_BUCKET,
          accessKeyId: environment.S3_ACCESS_KEY_ID,
          secretAccessKey: environment.S3_SECRET_ACCESS_KEY,
        },
        processes: { api: 1 },
      }),
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('use its services and its demo account', async () => {
    const { code, stdout } = await runFarebox(['keys', 'list', '--json'], {}, folder);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ accountId: account.id });
  });

  test('find it through FAREBOX_DATA', async () => {
    const { code } = await runFarebox(['keys', 'list'], { FAREBOX_DATA: path.join(folder, '.farebox') });
    expect(code).toBe(0);
  });

  test('use another deployment if DATABASE_URL is set', async () => {
    const { code, stderr } = await runFarebox(
      ['keys', 'list'],
      { DATABASE_URL: 'postgres://u:pass-word@127.0.0.1:1/x' },
      folder,
    );
    expect(code).toBe(2);
    expect(stderr).toContain('farebox: no database at 127.0.0.1:1 (DATABASE_URL)');
    expect(stderr).not.toContain('pass-word');
  });
});
