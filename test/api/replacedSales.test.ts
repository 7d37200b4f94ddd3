/** A stopping API process cuts the calls that do not end in time. Their clients, still connected, pay nothing. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAccount } from '../../infra/postgres/accounts.ts';
import { createKey } from '../../infra/postgres/keys.ts';
import { grant } from '../../infra/postgres/ledger.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { createWorld, spawnApi } from '../harness/services.ts';
import { until } from '../harness/until.ts';
import { silentMp3 } from '../stubs/elevenlabsAudio.ts';

/** Responses of the service to requests that it received and has not answered, by path. */
const waiting = new Map<string, ServerResponse>();
let service: Server;
let folder: string;
let environment: Record<string, string>;
let sql: pg.Pool;

beforeAll(async () => {
  service = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      const path = request.url ?? '';
      // The service sends a part of the speech.
      if (path.endsWith('/audio/speech')) response.writeHead(200, { 'content-type': 'audio/mpeg' }).write(silentMp3(1));
      waiting.set(path.slice('/v1'.length), response);
    });
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}/v1`;
  folder = await mkdtemp(join(tmpdir(), 'farebox-replaced-'));
  const file = join(folder, 'farebox.config.json');
  const price = { usd: 1, diem: 1 };
  const own = { provider: 'openai', privacy: 'private' };
  const publishedModels = { 'gpt-image-2': 'gpt-image-2', 'tts-kokoro': 'kokoro' };
  const text = { name: 'House', availableContextTokens: 100_000, pricing: { input: price, output: price } };
  const configuration = {
    providers: { openai: { kind: 'openai', baseUrl, allowPrivateNetwork: true, publishedModels } },
    models: [
      { id: 'house', type: 'text', upstreamModel: 'house', ...own, spec: text },
      {
        id: 'embedder',
        type: 'embedding',
        upstreamModel: 'e',
        ...own,
        spec: { name: 'Embedder', pricing: { input: price } },
      },
    ],
    // With this budget, each refund that counts into it would be billed.
    limits: { refundedPerDay: 0 },
  };
  await writeFile(file, JSON.stringify(configuration));
  environment = { ...(await createWorld()).environment, FAREBOX_CONFIG: file, FAREBOX_DRAIN_SECONDS: '3' };
  sql = openPool({ databaseUrl: environment.DATABASE_URL ?? '', applicationName: 'test' });
});

afterAll(async () => {
  await sql.end();
  service.closeAllConnections();
  await Promise.all([new Promise((resolve) => service.close(resolve)), rm(folder, { recursive: true })]);
});

const USAGE = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
const MESSAGE = { role: 'assistant', content: 'All aboard.' };

/** Each order with the reply that its service sends after the client was cut. */
const ORDERS: [what: string, path: string, body: object, late: object | undefined][] = [
  [
    'a whole answer',
    '/chat/completions',
    { model: 'house', messages: [{ role: 'user', content: 'Go on' }] },
    { id: 'c', choices: [{ index: 0, message: MESSAGE, finish_reason: 'stop' }], usage: USAGE },
  ],
  [
    'embeddings',
    '/embeddings',
    { model: 'embedder', input: 'Go on' },
    { data: [{ index: 0, embedding: [1, 2] }], usage: USAGE },
  ],
  ['a picture', '/images/generations', { model: 'gpt-image-2', prompt: 'A tram' }, undefined],
  ['streamed speech', '/audio/speech', { model: 'tts-kokoro', input: 'Mind the gap.', streaming: true }, undefined],
];

/** The account of each order. */
const accounts = new Map<string, string>();

async function newPayer(what: string): Promise<string> {
  const { id: accountId } = await createAccount(sql, { name: 'cut' });
  const { secret } = await createKey(sql, { accountId, keyType: 'INFERENCE' });
  const credit = { operationId: randomUUID(), accountId, amount: 10n ** 10n, notes: 'test' };
  await grant(sql, { ...credit, currency: 'usd' });
  accounts.set(what, accountId);
  return secret;
}

beforeAll(async () => {
  const api = await spawnApi({ environment });
  const taken = await Promise.all(
    ORDERS.map(async ([what, path, body]) => {
      const headers = { authorization: `Bearer ${await newPayer(what)}`, 'content-type': 'application/json' };
      const answer = fetch(`${api.baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      const end = answer.then((response) => response.arrayBuffer()).catch(() => 'cut');
      if (path === '/audio/speech') expect((await answer).status).toBe(200);
      return { end };
    }),
  );
  await until('the service has all of them', () => waiting.size === ORDERS.length);
  api.kill('SIGTERM');
  expect(await Promise.all(taken.map(({ end }) => end))).toEqual(ORDERS.map(() => 'cut'));
  for (const [, path, , late] of ORDERS) {
    if (late === undefined) continue;
    waiting.get(path)?.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(late));
  }
  expect(await api.exit).toEqual({ code: 0, signal: null });
});

it.each(ORDERS)('charges nothing for a call that is cut when the process ends: %s', async (what) => {
  for (const table of ['usage_entries', 'holds', 'refunded_days']) {
    const { rowCount } = await sql.query(`select from ${table} where account_id = $1`, [accounts.get(what)]);
    expect([table, rowCount]).toEqual([table, 0]);
  }
  expect(await checkLedger(sql)).toEqual([]);
});
