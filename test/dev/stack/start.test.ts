/** `npm start` as a person runs it: a process, real parts, and a data folder with a space in its path. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { identify } from '../../../dev/launch/processIdentity.mjs';
import { freePorts } from '../../../dev/stack/freePorts.ts';
import { query } from '../../../dev/stack/parts/postgres.ts';
import { stopOrphans } from '../../../dev/stack/runRecords.ts';
import { processEnvironment } from '../../../infra/config/environment.ts';
import { services } from '../../harness/services.ts';
import { type Spawned, spawnNode } from '../../harness/spawn.ts';
import { startOllamaStub } from '../../stubs/ollama.ts';

interface DevFile {
  baseUrl: string;
  accountId: string;
  keys: { admin: string; inference: string };
  temporal: { address: string; namespace: string; uiUrl: string };
  databaseUrl: string;
  redisUrl: string;
  s3: Record<'endpoint' | 'region' | 'bucket' | 'accessKeyId' | 'secretAccessKey', string>;
  processes: Record<'api' | 'worker' | 'postgres' | 'redis' | 's3' | 'temporal', number>;
}

// Each test starts a whole service on any machine.

let base: string;
let ports: number[];

beforeAll(async () => {
  base = path.join(services().folder, 'start with a space');
  mkdirSync(base);
  ports = await freePorts(3);
});

afterAll(async () => {
  for (const name of ['one', 'other', 'shared']) await stopOrphans(path.join(base, name));
  rmSync(base, { recursive: true, force: true });
});

function start(name: string, port: number | undefined, flags: string[] = [], more: Record<string, string> = {}) {
  const { XDG_CACHE_HOME } = processEnvironment();
  return spawnNode({
    script: 'dist/cli/start.js',
    name: 'start',
    args: flags,
    environment: {
      PORT: String(port),
      FAREBOX_DATA: path.join(base, name),
      ...(XDG_CACHE_HOME && { XDG_CACHE_HOME }),
      ...more,
    },
    runFolder: services().runFolder,
  });
}

async function says(spawned: Spawned, words: string): Promise<void> {
  const state = { ended: false };
  void spawned.exit.then(() => {
    state.ended = true;
  });
  for (const deadline = Date.now() + 240_000; !spawned.logs().includes(words); await sleep(50)) {
    if (state.ended || Date.now() > deadline) throw new Error(`it never said "${words}":\n${spawned.logs()}`);
  }
}

const devFileOf = (name: string) => path.join(base, name, 'dev.json');
const readDevFile = (name: string) => JSON.parse(readFileSync(devFileOf(name), 'utf8')) as DevFile;

async function balanceAt({ baseUrl, keys }: DevFile) {
  const headers = { authorization: `Bearer ${keys.admin}` };
  const answer = await fetch(`${baseUrl}/billing/balance`, { headers });
  return {
    status: answer.status,
    body: (await answer.json()) as { balances: { usd: number; diem: number } },
  };
}

function leftOf(dev: DevFile): string[] {
  return Object.entries(dev.processes)
    .filter(([, pid]) => identify(pid) !== undefined)
    .map(([name]) => name);
}

test('creates a data folder, shows a paid job, and stops everything on Ctrl-C', async () => {
  const started = start('one', ports[0]);
  await says(started, 'Running. Ctrl-C');
  const dev = readDevFile('one');
  expect(statSync(devFileOf('one')).mode & 0o777).toBe(0o600);
  expect(dev.baseUrl).toBe(`http://127.0.0.1:${ports[0]}/api/v1`);
  expect(Object.keys(dev.processes).sort()).toEqual(['api', 'postgres', 'redis', 's3', 'temporal', 'worker']);
  expect(await balanceAt(dev)).toMatchObject({ status: 200, body: { balances: { usd: 100, diem: 9.95 } } });
  const log = started.logs();
  for (const step of ['measured', 'charged', 'stored', 'delivered', 'deleted', 'price', 'balance']) {
    expect(log).toMatch(new RegExp(`^ {2}${step}`, 'm'));
  }
  expect(existsSync(path.join(base, 'one', 'demonstration.mp3'))).toBe(true);
  expect(await (await fetch(dev.temporal.uiUrl)).text()).toContain('<html');

  started.kill('SIGINT');
  expect(await started.exit).toEqual({ code: 0, signal: null });
  expect(existsSync(devFileOf('one'))).toBe(false);
  expect(leftOf(dev)).toEqual([]);
});

test('starts quickly the second time, with the same account, keys and balance and no second demonstration', async () => {
  const startedAt = Date.now();
  const started = start('one', ports[0]);
  await says(started, 'Running. Ctrl-C');
  expect(Date.now() - startedAt).toBeLessThan(20_000);
  const dev = readDevFile('one');
  expect(await balanceAt(dev)).toMatchObject({ body: { balances: { usd: 100, diem: 9.95 } } });
  expect(started.logs()).not.toContain('demonstration');

  const second = start('one', ports[2]);
  expect((await second.exit).code).toBe(0);
  expect(second.logs()).toContain(`already running at ${dev.baseUrl}`);

  const other = start('other', ports[1], ['--no-demo']);
  await says(other, 'Running. Ctrl-C');
  const beside = readDevFile('other');
  expect(beside.accountId).not.toBe(dev.accountId);
  expect((await balanceAt(beside)).status).toBe(200);
  expect((await balanceAt({ ...beside, keys: dev.keys })).status).toBe(401);
  expect((await balanceAt(dev)).status).toBe(200);
  await other.stop();
  expect((await balanceAt(dev)).status).toBe(200);

  started.kill('SIGKILL');
  await started.exit;
  expect(leftOf(dev)).toHaveLength(6);
});

test('stops leftovers of a killed supervisor at the next start, and restarts a killed part', async () => {
  const started = start('one', ports[0]);
  await says(started, 'Running. Ctrl-C');
  expect(started.logs()).toMatch(/stopped what an earlier start left running: .*postgres/);
  const { processes } = readDevFile('one');

  process.kill(processes.postgres, 'SIGKILL');
  process.kill(processes.api, 'SIGKILL');
  await says(started, 'postgres runs again');
  await says(started, 'api runs again');
  const dev = readDevFile('one');
  expect(dev.processes.postgres).not.toBe(processes.postgres);
  expect(await query(dev.databaseUrl, 'select count(*)::int as jobs from jobs')).toEqual([{ jobs: 1 }]);
  await started.stop();
  expect(leftOf(dev)).toEqual([]);
});

test('uses a part that a variable names and starts none; finds and announces an Ollama', async () => {
  const { databaseUrl, redisUrl, temporal, s3 } = services();
  const ollama = await startOllamaStub({ 'llama3.2:latest': { capabilities: ['completion'] } });
  const started = start('shared', ports[1], ['--no-demo'], {
    DATABASE_URL: await emptyDatabase(databaseUrl),
    REDIS_URL: redisUrl,
    TEMPORAL_ADDRESS: temporal.address,
    S3_ENDPOINT: s3.endpoint,
    S3_BUCKET: 'shared-by-start',
    S3_ACCESS_KEY_ID: s3.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    OLLAMA_HOST: ollama.address,
  });
  await says(started, 'Running. Ctrl-C');
  const dev = readDevFile('shared');
  expect(Object.keys(dev.processes).sort()).toEqual(['api', 'worker']);
  expect(started.logs()).toContain(`${ollama.address}, free of charge: llama3.2:latest`);
  const answer = await fetch(`${dev.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${dev.keys.inference}`, 'content-type': 'application/json' },
    body: '{"model":"llama3.2","messages":[{"role":"user","content":"Hello"}]}',
  });
  expect(await answer.json()).toMatchObject({ model: 'llama3.2:latest', cost: { usd: 0 } });
  await started.stop();
  await ollama.close();
});

async function emptyDatabase(adminUrl: string): Promise<string> {
  await query(adminUrl, 'create database shared_by_start');
  const url = new URL(adminUrl);
  url.pathname = '/shared_by_start';
  return url.href;
}

test('names a port in use, and leaves nothing running', async () => {
  const server = net.createServer().listen(ports[1], '127.0.0.1');
  const started = start('one', ports[1]);
  expect((await started.exit).code).toBe(1);
  expect(started.logs()).toContain(`port ${ports[1]} of 127.0.0.1 is in use by another program: set PORT`);
  expect(existsSync(path.join(base, 'one', 'supervisor.lock'))).toBe(false);
  server.close();
});

test('refuses an unknown flag or a wrong configuration before anything starts', async () => {
  const unknown = start('none', ports[1], ['--with-demo-chains']);
  expect((await unknown.exit).code).not.toBe(0);
  expect(unknown.logs()).toContain('unknown flag --with-demo-chains');
  const wrong = start('none', ports[1], [], { PORT: 'eighty' });
  expect((await wrong.exit).code).not.toBe(0);
  expect(wrong.logs()).toContain('PORT');
  expect(existsSync(path.join(base, 'none'))).toBe(false);
});
