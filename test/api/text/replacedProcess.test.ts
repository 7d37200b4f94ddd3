/** An API process that stops during a long stream: the bill is written, and the client gets an error frame. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAccount } from '../../../infra/postgres/accounts.ts';
import { createKey } from '../../../infra/postgres/keys.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import { createWorld, spawnApi } from '../../harness/services.ts';
import { until } from '../../harness/until.ts';
import { type OpenAiStub, startOpenAiStub } from '../../stubs/openai.ts';

/** Output for minutes. */
const ENDLESS = { tokens: Array.from({ length: 20_000 }, (_, index) => ` w${index}`), pauseMs: 20 };

let stub: OpenAiStub;
let folder: string;
let environment: Record<string, string>;
let sql: pg.Pool;
let accountId: string;
let secret: string;

beforeAll(async () => {
  stub = await startOpenAiStub();
  stub.apiKey = undefined;
  folder = await mkdtemp(join(tmpdir(), 'farebox-replaced-'));
  const file = join(folder, 'farebox.config.json');
  const price = { usd: 1, diem: 1 };
  const spec = { name: 'House', availableContextTokens: 100_000, pricing: { input: price, output: price } };
  const configuration = {
    providers: { llm: { kind: 'openai', baseUrl: stub.baseUrl, allowPrivateNetwork: true } },
    models: [{ id: 'house', type: 'text', provider: 'llm', upstreamModel: 'gpt-stub', privacy: 'private', spec }],
  };
  await writeFile(file, JSON.stringify(configuration));
  // A slow machine has a third of this time to settle the stream.
  environment = { ...(await createWorld()).environment, FAREBOX_CONFIG: file, FAREBOX_DRAIN_SECONDS: '24' };
  sql = openPool({ databaseUrl: environment.DATABASE_URL ?? '', applicationName: 'test' });
  ({ id: accountId } = await createAccount(sql, { name: 'replaced' }));
  ({ secret } = await createKey(sql, { accountId, keyType: 'INFERENCE' }));
  const operationId = randomUUID();
  await grant(sql, { operationId, accountId, currency: 'usd', amount: 10n ** 10n, notes: 'test' });
});

afterAll(async () => {
  await sql.end();
  await Promise.all([stub.close(), rm(folder, { recursive: true })]);
});

function ask(baseUrl: string, stream: boolean, signal?: AbortSignal): Promise<Response> {
  return fetch(`${baseUrl}/chat/completions`, {
    ...{ method: 'POST', ...(signal && { signal }) },
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'house', stream, messages: [{ role: 'user', content: 'Go on' }] }),
  });
}

it('a long stream ends with an error frame, its bill stands, and the books are clean', async () => {
  const api = await spawnApi({ environment });
  stub.next.push(ENDLESS, { hang: 'head' });
  const streamed = await ask(api.baseUrl, true);
  const reader = streamed.body?.getReader();
  let text = Buffer.from((await reader?.read())?.value ?? []).toString();
  // A complete answer that is late is cut with the connection, and costs nothing.
  const whole = ask(api.baseUrl, false).then(
    ({ status }) => status,
    () => 'cut',
  );
  await until('both are asked', () => stub.received.length === 2);
  api.kill('SIGTERM');
  for (;;) {
    const chunk = await reader?.read();
    if (!chunk || chunk.done) break;
    text += Buffer.from(chunk.value).toString();
  }
  const frames = text.trim().split('\n\n');
  expect(frames.at(-1)).toBe('data: [DONE]');
  expect(JSON.parse(frames.at(-2)?.slice('data: '.length) ?? '')).toMatchObject({
    error: { code: 'upstream_error', message: expect.stringContaining('restarting') },
  });
  expect(await whole).toBe('cut');
  expect(await api.exit).toEqual({ code: 0, signal: null });
  const words = text.split('"content":" ').length - 1;
  const { rows: entries } = await sql.query(
    'select completion_tokens::int as completion from usage_entries where account_id = $1',
    [accountId],
  );
  expect(entries).toHaveLength(1);
  expect(entries[0].completion).toBeGreaterThanOrEqual(words);
  const { rows: holds } = await sql.query('select operation_id from holds');
  expect(holds).toEqual([]);
  expect(stub.received.every(({ aborted }) => aborted)).toBe(true);
  expect(await checkLedger(sql)).toEqual([]);
});

it.each([
  ['by the count of its service where that comes in time', { delayMs: 4_000 }, true],
  ['by its prompt where the time to read it ends first', { hang: 'head' as const }, false],
])('bills a complete answer whose client has left %s', async (_how, plan, isWhole) => {
  const { id } = await createAccount(sql, { name: 'left' });
  const { secret: key } = await createKey(sql, { accountId: id, keyType: 'INFERENCE' });
  await grant(sql, {
    ...{ operationId: randomUUID(), accountId: id, currency: 'usd', amount: 10n ** 10n, notes: 'test' },
  });
  secret = key;
  const api = await spawnApi({ environment });
  const { length } = stub.received;
  stub.next.push(plan);
  const away = new AbortController();
  const left = ask(api.baseUrl, false, away.signal).catch(() => 'left');
  await until('it is asked', () => stub.received.length > length);
  away.abort();
  expect(await left).toBe('left');
  api.kill('SIGTERM');
  expect(await api.exit).toEqual({ code: 0, signal: null });
  const { rows } = await sql.query(
    `select prompt_tokens::int > 0 as has_prompt, completion_tokens::int > 0 as has_answer, notes like '%counted here%' as is_counted
       from usage_entries where account_id = $1`,
    [id],
  );
  expect(rows).toEqual([{ has_prompt: true, has_answer: isWhole, is_counted: !isWhole }]);
  expect((await sql.query('select from holds')).rowCount).toBe(0);
  expect(await checkLedger(sql)).toEqual([]);
});
