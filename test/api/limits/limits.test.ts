/** Rate limits over HTTP (LIMIT-1 to LIMIT-12): refusals, their messages, and the headers before. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { Config } from '../../../infra/config/config.ts';
import { longRun } from '../../infra/postgres/longRun.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { call, MODELS } from './limitsWorld.ts';

const partner = randomUUID();
const otherPartner = randomUUID();
const raised = randomUUID();
const config = (loaded: Config): Config => ({
  ...loaded,
  models: [...loaded.models, ...MODELS],
  modelCatalogue: createCatalogue([...loaded.models, ...MODELS]),
  limits: {
    ...loaded.limits,
    partnerAccounts: [partner, otherPartner],
    overrides: { [raised]: { requestsPerMinute: 7, tokensPerMinute: 70, failedPer30s: 3 } },
  },
});

let apis: TestApi[];
beforeAll(async () => {
  const options = {
    routes: [call('/test/call'), call('/chat/completions'), call('/test/picture', 'image')],
    config,
    budgets: 'published',
  } as const;
  const first = await startApi(options);
  apis = [first, await startApi({ ...options, environment: first.environment })];
  for (const id of [partner, otherPartner, raised]) {
    await first.opened.dependencies.core.sql.query(`insert into accounts (id, name) values ($1, 'test')`, [id]);
  }
});
afterAll(async () => {
  for (const api of apis ?? []) await api.stop();
});

async function newKey(accountId?: string): Promise<string> {
  return (await (apis[0] as TestApi).newKey('ADMIN', accountId ? { accountId } : {})).secret;
}

interface Sent {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

/** Alternates between both processes. */
async function send(turn: number, key: string, content: object, path = '/test/call'): Promise<Sent> {
  const response = await (apis[turn % 2] as TestApi).call(path, {
    ...{ method: 'POST', key, headers: { 'content-type': 'application/json' } },
    body: JSON.stringify(content),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Sent['body'],
  };
}

function limitHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-ratelimit-')));
}

interface Exhausted {
  key: string;
  content: object;
  path: string;
  /** Unix ms, from the response. */
  resets: number;
}
const exhaustedBudgets: Exhausted[] = [];

describe('the failure budget', () => {
  const exhausted = /^Too many failed attempts \(> 50\) .*30 seconds/;

  it('is used up by the fiftieth failure in 30 s, per key and model', async () => {
    const { secret: key, accountId } = await (apis[0] as TestApi).newKey('ADMIN');
    const model = 'film';
    for (let turn = 0; turn < 50; turn += 1) {
      const { status, headers } = await send(turn, key, { model, end: 'failed' });
      expect([turn, status, headers.get('x-ratelimit-remaining')]).toEqual([turn, 503, String(49 - turn)]);
    }
    const refused = await send(1, key, { model });
    expect(refused.status).toBe(429);
    expect(refused.body.customMessage).toMatch(exhausted);
    expect(Object.keys(limitHeaders(refused.headers)).sort()).toEqual(['x-ratelimit-remaining', 'x-ratelimit-resets']);
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
    const resets = Number(refused.headers.get('x-ratelimit-resets'));
    expect(resets - Date.now()).toBeLessThanOrEqual(31_000);
    // Other models, keys and accounts are not affected.
    expect((await send(0, key, { model: 'tiny' })).status).toBe(200);
    expect((await send(0, await newKey(accountId), { model })).status).toBe(200);
    // Refusals do not count as failures, so repeated requests do not extend the refusal.
    for (let turn = 0; turn < 20; turn += 1) expect((await send(turn, key, { model })).status).toBe(429);
    const log = await (apis[1] as TestApi).call('/api_keys/rate_limits/log', { key });
    const { object, data } = (await log.json()) as { object: string; data: Record<string, unknown>[] };
    expect([object, data.length]).toEqual(['list', 21]);
    expect(Object.keys(data[0] ?? {}).sort()).toEqual([
      'apiKeyId',
      'modelId',
      'rateLimitTier',
      'rateLimitType',
      'timestamp',
    ]);
    expect(data[0]).toMatchObject({
      modelId: model,
      rateLimitTier: 'paid',
      rateLimitType: 'FAILED_REQUESTS',
    });
    const alias = await (apis[0] as TestApi).call('/api_keys/rate_limit_logs', { key });
    expect(await alias.json()).toEqual({ object, data });
    // The last test checks that this stays refused for 30 s and is admitted after them.
    exhaustedBudgets.push({ key, content: { model }, path: '/test/call', resets });
  });

  it('counts requests that could not be parsed for their route, and those with invalid fields for their model', async () => {
    const key = await newKey();
    for (let turn = 0; turn < 51; turn += 1) {
      const response = await (apis[turn % 2] as TestApi).call('/test/call', {
        ...{ method: 'POST', key, headers: { 'content-type': 'application/json' }, body: '{"model": tiny}' },
      });
      expect([turn, response.status]).toEqual([turn, turn < 50 ? 400 : 429]);
    }
    for (let turn = 0; turn < 50; turn += 1) {
      expect((await send(turn, key, { model: 'film', nothing: true })).status).toBe(400);
    }
    expect((await send(0, key, { model: 'film', nothing: true })).status).toBe(429);
    for (let turn = 0; turn < 50; turn += 1) {
      expect((await send(turn, key, { model: `unknown-${turn}`, end: 'failed' })).status).toBe(503);
    }
    expect((await send(0, key, { model: 'unknown-again' })).status).toBe(429);
  });

  it('counts keys of the wrong kind, before the request is read', async () => {
    const { secret: key } = await (apis[0] as TestApi).newKey('INFERENCE');
    for (let turn = 0; turn < 51; turn += 1) {
      const { status, headers } = await (apis[turn % 2] as TestApi).call('/api_keys', {
        ...{ method: 'POST', key, headers: { 'content-type': 'application/json' }, body: '{"nothing":' },
      });
      expect([turn, status]).toEqual([turn, turn < 50 ? 401 : 429]);
      expect(headers.get('x-ratelimit-remaining')).toBe(String(Math.max(0, 49 - turn)));
    }
  });

  it('refuses every request after a burst of failures, and never shows a negative rest', async () => {
    const key = await newKey();
    const burst = Array.from({ length: 100 }, (_, turn) => send(turn, key, { model: 'film', end: 'failed' }));
    for (const { headers } of await Promise.all(burst)) {
      expect(Number(headers.get('x-ratelimit-remaining'))).toBeGreaterThanOrEqual(0);
    }
    const refused = await send(0, key, { model: 'film' });
    expect([refused.status, refused.headers.get('x-ratelimit-remaining')]).toEqual([429, '0']);
  });

  it('is not used up by a provider without capacity', async () => {
    const key = await newKey();
    for (let turn = 0; turn < 60; turn += 1) {
      const { body: answer } = await send(turn, key, { model: 'film', end: 'busy' });
      expect(answer.error).toBe('the provider is busy');
    }
  });

  it('for unsupported features is used up by the two-hundredth failure, on chat alone', async () => {
    const key = await newKey(partner);
    const ask = (turn: number) => send(turn, key, { model: 'tiny', end: 'unsupported' }, '/chat/completions');
    for (let turn = 0; turn < 200; turn += 1) expect([turn, (await ask(turn)).status]).toEqual([turn, 400]);
    const refused = await ask(0);
    expect(refused.status).toBe(429);
    expect(refused.body.customMessage).toMatch(/^Too many requests \(> 200\) for features/);
    expect(limitHeaders(refused.headers)).toEqual({
      'x-ratelimit-remaining': '0',
      'x-ratelimit-resets': expect.any(String),
    });
    expect((await send(0, key, { model: 'tiny' })).status).toBe(200);
    const resets = Number(refused.headers.get('x-ratelimit-resets'));
    exhaustedBudgets.push({ key, content: { model: 'tiny' }, path: '/chat/completions', resets });
  });
});

/** Further values of one rule. The table has each way to it, and `--long` has each value. */
const VALUES: [string, string | undefined, number][] = [
  ['middle', undefined, 100],
  ['large', undefined, 100],
  ['vectors', undefined, 500],
  ['speaker', undefined, 60],
  ['middle', partner, 200],
  ['large', partner, 150],
  ['painter', partner, 60],
  ['speaker', partner, 120],
];

describe('requests per minute', () => {
  it.each<[string, string | undefined, number]>([
    ['tiny', undefined, 500],
    ['small', undefined, 150],
    ['painter', undefined, 20],
    ['small', partner, 300],
    ['small', raised, 7],
    ...VALUES.slice(0, longRun(0, 8)),
  ])('%s for %s: admits exactly %i of a thousand at once over two processes', async (model, accountId, limit) => {
    const key = await newKey(accountId);
    const sent: Sent[] = [];
    let left = 1_000;
    const lane = async () => {
      while (left > 0) sent.push(await send(--left, key, { model }));
    };
    await Promise.all(Array.from({ length: 32 }, lane));
    const admitted = sent.filter(({ status }) => status === 200);
    const refused = sent.filter(({ status }) => status === 429);
    expect([admitted.length, refused.length]).toEqual([limit, 1_000 - limit]);
    const words = `Rate limit exceeded: at most ${limit} requests per minute for this model.`;
    expect(refused[0]?.body).toEqual({ error: words, customMessage: words });
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    for (const { headers } of [...admitted, ...refused]) {
      expect(headers.get('x-ratelimit-limit-requests')).toBe(String(limit));
      const reset = Number(headers.get('x-ratelimit-reset-requests')) - Date.now() / 1_000;
      expect(reset).toBeGreaterThan(-90);
      expect(reset).toBeLessThanOrEqual(63);
    }
    const remaining = admitted.map(({ headers }) => Number(headers.get('x-ratelimit-remaining-requests')));
    expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: limit }, (_, index) => index));
    expect(refused[0]?.headers.get('x-ratelimit-remaining-requests')).toBe('0');
  });

  it('count per account and model, over all keys', async () => {
    const { secret, accountId } = await (apis[0] as TestApi).newKey('INFERENCE');
    const second = await newKey(accountId);
    for (let turn = 0; turn < 20; turn += 1) {
      expect((await send(turn, turn % 2 ? secret : second, { model: 'painter' })).status).toBe(200);
    }
    expect((await send(0, secret, { model: 'painter' })).status).toBe(429);
    expect((await send(1, second, { model: 'painter' })).status).toBe(429);
    expect((await send(0, secret, { model: 'speaker' })).status).toBe(200);
    expect((await send(0, await newKey(), { model: 'painter' })).status).toBe(200);
  });

  it('have no limit of a model for jobs, whose headers tell the limit of all jobs', async () => {
    const key = await newKey();
    for (let turn = 0; turn < 30; turn += 1) {
      const { status, headers } = await send(turn, key, { model: 'film' });
      expect(status).toBe(200);
      expect(limitHeaders(headers)).toEqual({
        'x-ratelimit-limit-requests': '60000',
        'x-ratelimit-remaining-requests': String(59_999 - turn),
        'x-ratelimit-reset-requests': expect.stringMatching(/^\d{10}$/),
        'x-ratelimit-remaining': '50',
        'x-ratelimit-resets': expect.stringMatching(/^\d{13}$/),
      });
    }
  });
});

describe('the headers of a limited model', () => {
  it('count down to the last admitted request, and stay unchanged at a refused one', async () => {
    const key = await newKey(raised);
    const startedAt = Date.now();
    for (let turn = 0; turn < 8; turn += 1) {
      const { status, headers } = await send(turn, key, { model: 'middle', tokens: 5 });
      const left = Math.max(0, 6 - turn);
      expect([turn, status]).toEqual([turn, turn < 7 ? 200 : 429]);
      expect(limitHeaders(headers)).toEqual({
        'x-ratelimit-limit-requests': '7',
        'x-ratelimit-remaining-requests': String(left),
        'x-ratelimit-reset-requests': expect.stringMatching(/^\d{10}$/),
        'x-ratelimit-limit-tokens': '70',
        'x-ratelimit-remaining-tokens': String(70 - 5 * (7 - left)),
        'x-ratelimit-reset-tokens': expect.stringMatching(/^\d{1,2}$/),
        'x-ratelimit-remaining': '3',
        'x-ratelimit-resets': expect.stringMatching(/^\d{13}$/),
      });
      // The first request leaves the window after a minute, at most one slot of a second late.
      const reset = Number(headers.get('x-ratelimit-reset-requests')) * 1_000 - startedAt;
      expect(reset).toBeGreaterThanOrEqual(60_000);
      expect(reset).toBeLessThanOrEqual(62_000 + (Date.now() - startedAt));
      expect(Number(headers.get('x-ratelimit-reset-tokens'))).toBeLessThanOrEqual(62);
    }
  });
});

describe('tokens per minute', () => {
  it.each([
    ['tiny', undefined, 50_000, 5_000_000],
    ['vectors', undefined, 50_000, 5_000_000],
    ['large', otherPartner, 60_000, 3_000_000],
  ])('%s for %s: admits calls of %i tokens up to exactly %i, of a thousand at once', async (...row) => {
    const [model, accountId, tokens, limit] = row;
    const key = await newKey(accountId);
    const calls = Array.from({ length: 1_000 }, (_, turn) => send(turn, key, { model, tokens }));
    const sent = await Promise.all(calls);
    const refused = sent.filter(({ status }) => status === 429);
    expect(sent.filter(({ status }) => status === 200)).toHaveLength(limit / tokens);
    expect(refused).toHaveLength(1_000 - limit / tokens);
    const words = `Rate limit exceeded: at most ${limit} tokens per minute for this model.`;
    expect(refused[0]?.body).toEqual({ error: words, customMessage: words });
    for (const { headers } of refused) expect(headers.get('x-ratelimit-remaining-tokens')).toBe('0');
  });

  it('are held by the estimate, corrected by the usage, and refused at the limit', async () => {
    const key = await newKey(raised);
    const model = 'tiny';
    const first = await send(0, key, { model, tokens: 60, used: 20 });
    expect(limitHeaders(first.headers)).toMatchObject({
      'x-ratelimit-limit-tokens': '70',
      'x-ratelimit-remaining-tokens': '10',
    });
    const reset = Number(first.headers.get('x-ratelimit-reset-tokens'));
    expect(reset).toBeGreaterThan(58);
    expect(reset).toBeLessThanOrEqual(61);
    expect((await send(1, key, { model, tokens: 50 })).status).toBe(200);
    const refused = await send(0, key, { model, tokens: 1 });
    expect([refused.status, refused.body.customMessage]).toEqual([
      429,
      'Rate limit exceeded: at most 70 tokens per minute for this model.',
    ]);
  });
});

it('limits a model under all of its names together', async () => {
  const key = await newKey();
  const names = ['painter', 'painter-by-another-name'];
  for (let turn = 0; turn < 20; turn += 1) {
    const model = names[turn % 2];
    expect([turn, (await send(0, key, { model }, '/test/picture')).status]).toEqual([turn, 200]);
  }
  for (const model of names) expect((await send(0, key, { model }, '/test/picture')).status).toBe(429);
  expect((await send(0, key, { model: names[0] })).status).toBe(429);
});

describe('GET /api_keys/rate_limits', () => {
  it('shows the limits of each model, the tier, the balances and the next day', async () => {
    const key = await newKey(partner);
    const response = await (apis[0] as TestApi).call('/api_keys/rate_limits', { key });
    const { data } = (await response.json()) as { data: Record<string, unknown> };
    expect(data).toMatchObject({
      accessPermitted: false,
      apiTier: { id: 'partner', isCharged: true },
      balances: { USD: 0, DIEM: 0, BUNDLED_CREDITS: 0 },
      keyExpiration: null,
    });
    const next = new Date(String(data.nextEpochBegins));
    expect(next.toISOString()).toMatch(/T00:00:00\.000Z$/);
    expect(next.getTime() - Date.now()).toBeGreaterThan(0);
    expect(next.getTime() - Date.now()).toBeLessThanOrEqual(86_400_000);
    const limits = data.rateLimits as {
      apiModelId: string;
      rateLimits: { amount: number; type: string }[];
    }[];
    const of = (id: string) => limits.find(({ apiModelId }) => apiModelId === id)?.rateLimits;
    expect(of('small')).toEqual([
      { amount: 300, type: 'RPM' },
      { amount: 6_000_000, type: 'TPM' },
    ]);
    expect(of('vectors')).toEqual([
      { amount: 500, type: 'RPM' },
      { amount: 10_000_000, type: 'TPM' },
    ]);
    expect(of('film')).toEqual([]);
    expect(of('local-voice-changer')).toEqual([]);
  });
});

it('limits calls per process while Redis is down, and readiness names Redis', async () => {
  const [first] = apis as [TestApi];
  const environment = { ...first.environment, REDIS_URL: 'redis://127.0.0.1:1' };
  const alone = await startApi({ environment, config, budgets: 'published', routes: [call('/test/call')] });
  const { secret: key } = await alone.newKey('INFERENCE');
  const statuses: number[] = [];
  for (let turn = 0; turn < 25; turn += 1) {
    const response = await alone.call('/test/call', {
      ...{ method: 'POST', key, headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ model: 'painter' }),
    });
    statuses.push(response.status);
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(statuses.slice(20)).toEqual([429, 429, 429, 429, 429]);
  const ready = await fetch(`${alone.origin}/readyz`);
  expect(JSON.stringify(await ready.json())).toContain('redis');
  expect(alone.log.join('\n')).toContain('limits are counted by each process for itself');
  await alone.stop();
});

it('keeps an exhausted failure budget for 30 s, and restores it afterwards', async () => {
  expect(exhaustedBudgets).toHaveLength(2);
  for (const { key, content, path, resets } of exhaustedBudgets) {
    // The window slides, so the earliest failures leave first. Until then nothing is admitted.
    const { status } = await send(0, key, content, path);
    if (Date.now() < resets - 1_000) expect(status).toBe(429);
    await sleep(resets + 1_000 - Date.now());
    expect((await send(0, key, content, path)).status).toBe(200);
  }
});
