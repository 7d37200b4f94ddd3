/** Every upstream behaviour gets the documented answer and the right charge. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { balanceOf } from '../../../infra/postgres/ledger.ts';
import type { ChatScript } from '../../stubs/openaiScript.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

let world: TextWorld;

beforeAll(async () => {
  world = await startTextWorld();
});

afterAll(() => world.close());

/** `sent` bills the tokens that the upstream sent, `told` those of its usage. */
type Billed = 'nothing' | 'sent' | { promptTokens: number; completionTokens: number; amountNano: bigint };

interface Case {
  name: string;
  script: ChatScript;
  status: number;
  billed: Billed;
  /** Text in the body or in the events of a stream. */
  says?: string;
  retryAfter?: string;
}

const error = (status: number, more: object = {}, headers: Record<string, string> = {}): ChatScript => ({
  ...{ status, headers },
  body: { error: { message: 'internal words', type: 'some_error', param: null, code: null, ...more } },
});
const usage = (prompt: number, completion: number, more: object = {}) => ({
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...more },
});
const WORDS = { tokens: [' one', ' two', ' three', ' four', ' five'] };
const HTML = { body: '<html><body>It works!</body></html>', headers: { 'content-type': 'text/html' } };

/** Failures before the first word, equal for a complete answer and a stream. */
const REFUSED: Case[] = [
  { name: 'refuses the request', script: error(400), status: 400, billed: 'nothing' },
  { name: 'finds it unprocessable', script: error(422), status: 400, billed: 'nothing' },
  { name: 'does not accept our key', script: error(401), status: 503, billed: 'nothing' },
  { name: 'forbids it to us', script: error(403), status: 503, billed: 'nothing' },
  {
    name: 'wants to be paid',
    script: error(429, { code: 'insufficient_quota' }),
    status: 503,
    billed: 'nothing',
  },
  {
    name: 'does not have the model',
    script: error(404, { code: 'model_not_found' }),
    status: 503,
    billed: 'nothing',
  },
  { name: 'has too many requests', script: error(429), status: 429, billed: 'nothing' },
  {
    name: 'has too many requests for two seconds',
    script: error(429, {}, { 'retry-after': '2' }),
    status: 429,
    billed: 'nothing',
    retryAfter: '2',
  },
  { name: 'is overloaded', script: error(503), status: 429, billed: 'nothing' },
  { name: 'fails', script: error(500), status: 500, billed: 'nothing' },
  { name: 'is a gateway that fails', script: error(502), status: 500, billed: 'nothing' },
  {
    name: 'stops at its content policy',
    script: error(400, { code: 'content_policy_violation' }),
    status: 422,
    billed: 'nothing',
  },
  { name: 'answers with a page', script: HTML, status: 500, billed: 'nothing' },
  {
    name: 'sends us elsewhere',
    script: { status: 302, headers: { location: '/' }, body: '' },
    status: 500,
    billed: 'nothing',
  },
  { name: 'loses the reply', script: { lost: 'accepted' }, status: 500, billed: 'nothing' },
  { name: 'never answers', script: { hang: 'head' }, status: 504, billed: 'nothing' },
];

const WHOLE: Case[] = [
  {
    name: 'answers',
    script: { ...WORDS, ...usage(10, 5) },
    status: 200,
    billed: { promptTokens: 10, completionTokens: 5, amountNano: 20_000n },
  },
  {
    name: 'tells what was cached',
    script: { ...WORDS, ...usage(1_000, 5, { prompt_tokens_details: { cached_tokens: 900 } }) },
    status: 200,
    // Computed as 100 × 1 + 900 × 0.1 + 5 × 2 millionths.
    billed: { promptTokens: 1_000, completionTokens: 5, amountNano: 200_000n },
  },
  { name: 'does not tell its usage', script: { ...WORDS, usage: null }, status: 200, billed: 'sent' },
  { name: 'says nothing', script: { tokens: [], ...usage(10, 0) }, status: 200, billed: 'nothing' },
  { name: 'answers with an empty object', script: { body: {} }, status: 500, billed: 'nothing' },
  { name: 'answers with a list', script: { body: [] }, status: 500, billed: 'nothing' },
  {
    name: 'answers with half a JSON',
    script: { body: '{"choices":[{"mess' },
    status: 500,
    billed: 'nothing',
  },
];

const STREAMED: Case[] = [
  {
    name: 'answers',
    script: { ...WORDS, ...usage(10, 5) },
    status: 200,
    billed: { promptTokens: 10, completionTokens: 5, amountNano: 20_000n },
    says: '[DONE]',
  },
  {
    name: 'does not tell its usage',
    script: { ...WORDS, usage: null },
    status: 200,
    billed: 'sent',
    says: '[DONE]',
  },
  {
    name: 'breaks off after three frames',
    script: { ...WORDS, cutAfterFrames: 3, pauseMs: 5 },
    status: 200,
    billed: 'sent',
    says: 'upstream_error',
  },
  {
    name: 'falls silent after three frames',
    script: { ...WORDS, hang: 3 },
    status: 200,
    billed: 'sent',
    says: 'upstream_error',
  },
  {
    name: 'ends after three frames without a word',
    script: { ...WORDS, endAfterFrames: 3 },
    status: 200,
    billed: 'sent',
    says: 'upstream_error',
  },
  {
    name: 'frames oddly',
    script: { ...WORDS, ...usage(10, 5), oddFraming: true, pieceBytes: 7 },
    status: 200,
    billed: { promptTokens: 10, completionTokens: 5, amountNano: 20_000n },
    says: '[DONE]',
  },
  {
    name: 'says nothing',
    script: { tokens: [], ...usage(10, 0) },
    status: 200,
    billed: 'nothing',
    says: '[DONE]',
  },
];

async function expectBill(id: string | undefined, billed: Billed): Promise<void> {
  await world.settled();
  const entry = id === undefined ? undefined : await world.entryOf(id);
  if (billed === 'nothing') return expect(entry).toBeUndefined();
  if (billed === 'sent') {
    const sent = world.stub.received.at(-1)?.sentTokens;
    expect([entry?.completionTokens, entry?.notes]).toEqual([sent, expect.stringContaining('counted here')]);
    return;
  }
  expect(entry).toMatchObject(billed);
}

/** Waits until the failure of an earlier case no longer affects the upstream address. */
async function heal(): Promise<void> {
  world.stub.next = [];
  await expect.poll(async () => (await world.chat({})).status, { interval: 100 }).toBe(200);
}

const BOTH = [
  ...[...REFUSED, ...WHOLE].map((row) => ({ ...row, stream: false })),
  ...[...REFUSED, ...STREAMED].map((row) => ({ ...row, stream: true })),
];

describe('an upstream', () => {
  it.each(BOTH)('that $name (stream: $stream) is answered with $status', async ({ script, stream, ...expected }) => {
    await heal();
    world.stub.next = [script];
    const response = await world.chat({ stream });
    const text = await response.text();
    expect([response.status, text]).toEqual([expected.status, expect.stringContaining(expected.says ?? '')]);
    if (expected.retryAfter) expect(response.headers.get('retry-after')).toBe(expected.retryAfter);
    const { error: words, customMessage, ...rest } = response.status === 200 ? {} : JSON.parse(text);
    if (response.status !== 200) expect([typeof words, rest]).toEqual(['string', {}]);
    expect(customMessage).toBe(response.status === 429 ? words : undefined);
    expect(text).not.toContain('stub-key');
    await expectBill(/"id":"(chatcmpl-[0-9a-f]+)"/.exec(text)?.[1], expected.billed);
  });

  it('is tested in at least forty ways', () => {
    expect(BOTH.length).toBeGreaterThanOrEqual(40);
  });
});

describe('a fallback', () => {
  const FALLBACKS = { fallbacks: [{ model: 'gpt-second' }] };

  it.each([
    ['fails', error(500), false],
    ['fails', error(500), true],
    ['is overloaded', error(503), false],
    ['answers with a page', HTML, true],
    ['loses the reply', { lost: 'accepted' } as const, false],
  ])('answers when the first model %s (%j, stream: %s), and is billed alone', async (_name, script, stream) => {
    await heal();
    world.stub.next = [script];
    world.second.next = [{ ...WORDS, ...usage(7, 5) }];
    const response = await world.chat({ ...FALLBACKS, stream });
    const text = await response.text();
    expect([response.status, response.headers.get('x-service-model-id')]).toEqual([200, 'gpt-second']);
    expect(text).toContain('"model":"gpt-second"');
    await world.settled();
    const { rows } = await world.api.opened.dependencies.core.sql.query(
      'select sku, prompt_tokens from usage_entries where account_id = $1 order by id desc limit 1',
      [world.accountId],
    );
    expect(rows).toEqual([{ sku: 'gpt-second-llm-mtoken', prompt_tokens: '7' }]);
  });

  it('is not tried when the request itself is invalid', async () => {
    await heal();
    const before = world.second.received.length;
    world.stub.next = [error(400)];
    expect((await world.chat(FALLBACKS)).status).toBe(400);
    expect(world.second.received).toHaveLength(before);
  });

  it('that the key may not call, or that lacks a feature, is skipped', async () => {
    await heal();
    const before = world.second.received.length;
    world.stub.next = [error(500)];
    const tools = [{ type: 'function', function: { name: 'look' } }];
    const response = await world.chat({ tools, fallbacks: [{ model: 'gpt-plain' }, { model: 'nobody' }] });
    expect(response.status).toBe(500);
    expect(world.second.received).toHaveLength(before);
  });
});

it('bills a service that counts more than the hold as far as funds reach, and reports that to the client', async () => {
  await heal();
  const funds = async () => (await balanceOf(world.api.opened.dependencies.core.sql, world.accountId))?.usd ?? 0n;
  const before = await funds();
  // This usage costs 90,000 USD at 1 USD per million.
  world.stub.next = [{ ...WORDS, ...usage(90_000_000_000, 5) }];
  const response = await world.chat({ max_completion_tokens: 10 });
  const { cost } = (await response.json()) as { cost: { usd: number } };
  await world.settled();
  expect(await funds()).toBe(0n);
  expect(BigInt(Math.round(cost.usd * 1e9))).toBe(before);
});
