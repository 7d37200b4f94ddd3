/** A process that dies between a search and its answer leaves one hold, which is released whole at its expiry. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../../../../infra/postgres/accounts.ts';
import { expireHolds } from '../../../../infra/postgres/holdExpiry.ts';
import { createKey } from '../../../../infra/postgres/keys.ts';
import { balanceOf, grant } from '../../../../infra/postgres/ledger.ts';
import { checkLedger } from '../../../../infra/postgres/ledgerCheck.ts';
import { openPool } from '../../../../infra/postgres/pool.ts';
import { createWorld, spawnApi } from '../../../harness/services.ts';
import { until } from '../../../harness/until.ts';
import { type OpenAiStub, startOpenAiStub } from '../../../stubs/openai.ts';
import { type EngineStub, startSearxngStub } from '../../../stubs/searchEngines.ts';

const CREDIT = 10n ** 9n;

let engine: EngineStub;
let stub: OpenAiStub;
let folder: string;
let environment: Record<string, string>;
let sql: pg.Pool;
let accountId: string;
let secret: string;

beforeAll(async () => {
  [engine, stub] = await Promise.all([startSearxngStub(), startOpenAiStub()]);
  stub.apiKey = undefined;
  folder = await mkdtemp(join(tmpdir(), 'farebox-killed-'));
  const file = join(folder, 'farebox.config.json');
  await writeFile(file, JSON.stringify(configuration()));
  environment = { ...(await createWorld()).environment, FAREBOX_CONFIG: file };
  sql = openPool({ databaseUrl: environment.DATABASE_URL ?? '', applicationName: 'test' });
  ({ id: accountId } = await createAccount(sql, { name: 'killed' }));
  ({ secret } = await createKey(sql, { accountId, keyType: 'INFERENCE' }));
  const operationId = randomUUID();
  await grant(sql, { operationId, accountId, currency: 'usd', amount: CREDIT, notes: 'test' });
});

afterAll(async () => {
  await sql.end();
  await Promise.all([engine.close(), stub.close(), rm(folder, { recursive: true })]);
});

function configuration(): object {
  const price = { usd: 1, diem: 1 };
  const spec = {
    name: 'House',
    availableContextTokens: 32_768,
    capabilities: { supportsWebSearch: true },
    pricing: { input: price, output: price },
  };
  return {
    providers: { llm: { kind: 'openai', baseUrl: stub.baseUrl, allowPrivateNetwork: true } },
    models: [{ id: 'house', type: 'text', provider: 'llm', upstreamModel: 'gpt-stub', privacy: 'private', spec }],
    search: { kind: 'searxng', baseUrl: engine.baseUrl, allowPrivateNetwork: true },
  };
}

describe('a process that is killed', () => {
  it.each([
    ['while the engine is asked', () => engine.next.push(() => undefined), () => engine.requests.length],
    ['while the model is asked, after the search', () => stub.next.push({ hang: 'head' }), () => stub.received.length],
  ])('%s, nothing is charged, and the credit is whole again', async (_when, hang, asked) => {
    const api = await spawnApi({ environment });
    const before = asked();
    hang();
    const call = fetch(`${api.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'house',
        messages: [{ role: 'user', content: 'Who won?' }],
        service_parameters: { enable_web_search: 'on' },
      }),
    }).catch(() => undefined);
    await until('it is asked', () => asked() > before);
    api.kill('SIGKILL');
    await Promise.all([api.exit, call]);
    const { rows } = await sql.query('select count(*)::int as open from holds');
    expect(rows).toEqual([{ open: 1 }]);
    await expireNow();
    expect((await balanceOf(sql, accountId))?.usd).toBe(CREDIT);
    const entries = await sql.query('select id from usage_entries where account_id = $1', [accountId]);
    expect(entries.rows).toEqual([]);
    expect(await checkLedger(sql)).toEqual([]);
  });
});

/** Ends all holds as if their time had passed. */
async function expireNow(): Promise<void> {
  await sql.query("update holds set expires_at = now() - interval '1 second'");
  await expireHolds(sql, 10);
}
