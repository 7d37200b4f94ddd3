/** Our errors in the published OpenAI SDK: the classes that it throws, and its own retries. */
import { randomUUID } from 'node:crypto';
import OpenAI, { type ClientOptions } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { grant } from '../../../infra/postgres/ledger.ts';
import type { ChatScript } from '../../stubs/openaiScript.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

let world: TextWorld;

beforeAll(async () => {
  world = await startTextWorld();
});
beforeEach(async () => {
  // Wait until the failure of an earlier case no longer affects the upstream address.
  world.stub.next = [];
  await expect.poll(async () => (await world.chat({})).status, { interval: 100 }).toBe(200);
  world.stub.received.length = 0;
});
afterAll(() => world.close());

const clientOf = (options: ClientOptions = {}) =>
  new OpenAI({ baseURL: world.api.baseUrl, apiKey: world.key, maxRetries: 0, ...options });
const ASK = { model: 'gpt-stub', messages: [{ role: 'user', content: 'Hello there' }] } as const;
const ask = (client: OpenAI, more: object = {}) =>
  client.chat.completions.create({ ...ASK, messages: [...ASK.messages], ...more });
const told = (status: number, headers: Record<string, string> = {}, more: object = {}): ChatScript => ({
  ...{ status, headers },
  body: { error: { message: 'internal words', type: 'some_error', param: null, code: null, ...more } },
});

async function keyOf(more: Parameters<TextWorld['api']['newKey']>[1], credit = 0n): Promise<string> {
  const { secret, accountId } = await world.api.newKey('INFERENCE', more);
  const { sql } = world.api.opened.dependencies.core;
  const of = { operationId: randomUUID(), accountId, currency: 'usd', notes: 'test' } as const;
  if (credit > 0n) await grant(sql, { ...of, amount: credit });
  return secret;
}

interface Case {
  status: number;
  what: string;
  thrown: unknown;
  says: RegExp;
  script?: ChatScript;
  body?: object;
  key?: () => Promise<string>;
}

const CASES: Case[] = [
  {
    ...{ status: 400, what: 'a wrong value', thrown: OpenAI.BadRequestError },
    ...{ body: { temperature: 3 }, says: /^400 / },
  },
  {
    ...{ status: 400, what: 'a field that nobody knows', thrown: OpenAI.BadRequestError },
    ...{ body: { temprature: 1 }, says: /^400 / },
  },
  {
    ...{ status: 400, what: 'what the model cannot do', thrown: OpenAI.BadRequestError },
    ...{ body: { model: 'gpt-plain', logprobs: true }, says: /gpt-plain does not support log probabilities/ },
  },
  {
    ...{ status: 400, what: 'what the upstream refuses', thrown: OpenAI.BadRequestError },
    ...{ script: told(400, {}, { message: 'too many words' }), says: /too many words/ },
  },
  {
    ...{ status: 401, what: 'a key that nobody knows', thrown: OpenAI.AuthenticationError },
    ...{ key: async () => `sk-${'x'.repeat(40)}`, says: /^401 / },
  },
  {
    ...{ status: 402, what: 'an account without credit', thrown: OpenAI.APIError },
    ...{ key: () => keyOf({}), says: /Insufficient USD or Diem balance/ },
  },
  {
    ...{ status: 402, what: 'a key at its cap', thrown: OpenAI.APIError },
    ...{ key: () => keyOf({ limits: { usd: 1n } }, 10n ** 10n), says: /API key USD spend limit exceeded/ },
  },
  {
    ...{ status: 403, what: 'a key for other models', thrown: OpenAI.PermissionDeniedError },
    ...{ key: () => keyOf({ models: ['gpt-second'] }, 10n ** 10n), says: /may not call the model gpt-stub/ },
  },
  {
    ...{ status: 404, what: 'a model that is not there', thrown: OpenAI.NotFoundError },
    ...{ body: { model: 'nobody' }, says: /Specified model not found/ },
  },
  {
    ...{ status: 422, what: 'a content policy', thrown: OpenAI.UnprocessableEntityError },
    ...{ script: told(400, {}, { code: 'content_policy_violation', message: 'not this' }), says: /not this/ },
  },
  {
    ...{ status: 429, what: 'an upstream that is busy', thrown: OpenAI.RateLimitError },
    ...{ script: told(429), says: /overloaded/ },
  },
  {
    ...{ status: 500, what: 'an upstream that fails', thrown: OpenAI.InternalServerError },
    ...{ script: told(500), says: /Nothing was charged/ },
  },
  {
    ...{ status: 503, what: 'an upstream that does not know us', thrown: OpenAI.InternalServerError },
    ...{ script: told(401), says: /cannot be reached/ },
  },
  {
    ...{ status: 504, what: 'an upstream that does not answer', thrown: OpenAI.InternalServerError },
    ...{ script: { hang: 'head' }, says: /did not answer in time/ },
  },
];
const BOTH = [false, true].flatMap((stream) => CASES.map((row) => ({ ...row, stream })));

describe('an error', () => {
  it.each(BOTH)('$status for $what is thrown in its class (stream: $stream)', async ({ stream, ...row }) => {
    const key = await row.key?.();
    world.stub.next = row.script ? [row.script] : [];
    const client = clientOf(key === undefined ? {} : { apiKey: key });
    const error: unknown = await ask(client, { stream, ...row.body }).then(
      () => undefined,
      (thrown) => thrown,
    );
    expect(error).toBeInstanceOf(row.thrown);
    if (!(error instanceof OpenAI.APIError)) throw error;
    expect([error.status, error.message]).toEqual([row.status, expect.stringMatching(row.says)]);
    expect(error.requestID).toBe(error.headers?.get('x-request-id'));
    expect(error.requestID).toEqual(expect.any(String));
    expect(error.message).not.toContain('internal words');
    expect(world.stub.received.length).toBe(row.script ? 1 : 0);
    await world.settled();
  });

  it('of an unreachable server is a connection error', async () => {
    const client = clientOf({ baseURL: 'http://127.0.0.1:1/api/v1' });
    await expect(ask(client)).rejects.toBeInstanceOf(OpenAI.APIConnectionError);
  });

  it('of an impatient client is a timeout error', async () => {
    world.stub.next = [{ hang: 'head' }];
    await expect(ask(clientOf({ timeout: 200 }))).rejects.toBeInstanceOf(OpenAI.APIConnectionTimeoutError);
    await world.settled();
  });
});

describe('the retries of the SDK', () => {
  /** Records each answer with its Retry-After, and shortens the pause for the test. */
  function impatient() {
    const seen: [number, string | null][] = [];
    const hurried: typeof fetch = async (...request) => {
      const response = await fetch(...request);
      seen.push([response.status, response.headers.get('retry-after')]);
      const headers = new Headers(response.headers);
      headers.set('retry-after-ms', '1');
      return new Response(response.body, { status: response.status, headers });
    };
    return { seen, client: clientOf({ maxRetries: 2, fetch: hurried }) };
  }

  it.each([false, true])('follow a 429 when they are allowed (stream: %s)', async (stream) => {
    world.stub.next = [told(429, { 'retry-after': '1' })];
    const { response } = await ask(clientOf({ maxRetries: 1 }), { stream }).withResponse();
    expect(response.status).toBe(200);
    expect(world.stub.received).toHaveLength(2);
    await world.settled();
  });

  it.each([
    ['500', told(500), [500, null]],
    ['503', told(401), [503, '30']],
    ['a lost reply', { lost: 'accepted' } as const, [500, null]],
  ])('follow %s, and only the answer is charged', async (_what, script, first) => {
    const { seen, client } = impatient();
    world.stub.next = [script];
    const answer = (await ask(client)) as unknown as { id: string; cost: { usd: number } };
    expect(seen[0]).toEqual(first);
    expect(seen).toHaveLength(2);
    expect(seen.at(-1)).toEqual([200, null]);
    await world.settled();
    const entry = await world.entryOf(answer.id);
    expect(entry?.amountNano).toBe(BigInt(Math.round(answer.cost.usd * 1e9)));
    const { rows } = await world.api.opened.dependencies.core.sql.query(
      'select count(*)::int as entries from usage_entries where account_id = $1 and request_id = $2',
      [world.accountId, answer.id],
    );
    expect(rows).toEqual([{ entries: 1 }]);
  });

  it.each([
    ['400', { body: { temperature: 3 } }],
    ['404', { body: { model: 'nobody' } }],
    ['422', { script: told(400, {}, { code: 'content_policy_violation' }) }],
  ])('do not follow %s', async (status, { body, script }: { body?: object; script?: ChatScript }) => {
    const { seen, client } = impatient();
    world.stub.next = script ? [script] : [];
    await expect(ask(client, body)).rejects.toMatchObject({ status: Number(status) });
    expect(seen).toHaveLength(1);
  });

  it('end after the allowed number with the last error', async () => {
    const { seen, client } = impatient();
    world.stub.next = [told(500), told(502), told(500)];
    await expect(ask(client)).rejects.toBeInstanceOf(OpenAI.InternalServerError);
    expect(seen.map(([status]) => status)).toEqual([500, 500, 500]);
  });
});
