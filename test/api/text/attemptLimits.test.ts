/** Each attempted model is checked against its own limits, context and price, and the answering model is named. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { TextModel } from '../../../domain/catalogue/model.ts';
import { BUDGET_MS, MINUTE_MS } from '../../../domain/limits/limits.ts';
import type { Config } from '../../../infra/config/config.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import { startTextWorld, type TextWorld, textModel } from './textWorld.ts';

const { spec } = textModel({});
const other = (id: string, changes: Partial<TextModel['spec']> = {}) =>
  textModel({ id, provider: 'second', spec: { ...spec, ...changes } });
const DEAR = { usd: 1_000_000, diem: 1_000_000 };
const MODELS = [
  other('gpt-third'),
  other('gpt-dear', { pricing: { input: DEAR, output: DEAR } }),
  other('gpt-small', { availableContextTokens: 200 }),
  other('gpt-short', { maxCompletionTokens: 10 }),
];

let world: TextWorld;

function config(loaded: Config): Config {
  const models = [...loaded.models, ...MODELS];
  const [pattern] = loaded.characters;
  if (!pattern) throw new Error('no character');
  const speaker = { ...pattern, slug: 'speaker', modelId: 'gpt-second' };
  return {
    ...loaded,
    models,
    modelCatalogue: createCatalogue(models),
    characters: [...loaded.characters, speaker],
  };
}

beforeAll(async () => {
  world = await startTextWorld(config);
});
afterAll(() => world.close());

const FAILS = { status: 500, body: { error: { message: 'no' } } };

beforeEach(async () => {
  world.stub.next = [];
  // Wait until the failure of an earlier test no longer affects the upstream address.
  await expect.poll(async () => (await world.chat({})).status, { interval: 100 }).toBe(200);
  world.stub.next = [FAILS];
  world.second.received = [];
});

async function newPayer(amount: bigint): Promise<{ key: string; accountId: string; keyId: string }> {
  const { secret: key, accountId, keyId } = await world.api.newKey('INFERENCE');
  const credit = { operationId: randomUUID(), accountId, currency: 'usd', amount, notes: 'test' } as const;
  await grant(world.api.opened.dependencies.core.sql, credit);
  return { key, accountId, keyId };
}

const perMinute = (type: 'RPM' | 'TPM', subject: string) => {
  return { type, subject, limit: 1e9, cost: 0, windowMs: MINUTE_MS } as const;
};
const limiter = () => world.api.opened.dependencies.limits.calls.limiter;

const PLENTY = 10n ** 12n;
const fallbacks = (...models: string[]) => ({ fallbacks: models.map((model) => ({ model })) });

async function answeredBy(response: Response): Promise<[number, string | null]> {
  await response.text();
  return [response.status, response.headers.get('x-service-model-id')];
}

describe('a fallback', () => {
  it.each(['RPM', 'TPM'] as const)('whose %s limit is used up is skipped', async (type) => {
    const { key, accountId } = await newPayer(PLENTY);
    await limiter().correct(accountId, perMinute(type, 'gpt-second'), { count: 10_000_000 });
    const response = await world.chat(fallbacks('gpt-second', 'gpt-third'), { key });
    expect(await answeredBy(response)).toEqual([200, 'gpt-third']);
    expect(world.second.received).toHaveLength(1);
  });

  it('whose failure budget is used up is skipped, and the error is that of the first model', async () => {
    const { key, accountId, keyId } = await newPayer(PLENTY);
    const spent = { type: 'FAILED_REQUESTS', subject: `${keyId}:gpt-second`, limit: 50, cost: 0 } as const;
    const limits = world.api.opened.dependencies.limits.calls;
    const { overrideOf } = limits;
    limits.overrideOf = () => ({});
    try {
      await limits.limiter.correct(accountId, { ...spent, windowMs: BUDGET_MS }, { count: 50 });
      const response = await world.chat(fallbacks('gpt-second'), { key });
      expect([response.status, await response.json()]).toEqual([
        500,
        { error: 'Inference failed. Nothing was charged; please try again.' },
      ]);
    } finally {
      limits.overrideOf = overrideOf;
    }
    expect(world.second.received).toEqual([]);
    await world.settled();
  });

  it('has the request and the tokens counted for itself', async () => {
    const { key, accountId } = await newPayer(PLENTY);
    world.second.next = [{ usage: { prompt_tokens: 300, completion_tokens: 40, total_tokens: 340 } }];
    const response = await world.chat(fallbacks('gpt-second'), { key });
    expect(await answeredBy(response)).toEqual([200, 'gpt-second']);
    const total = async (type: 'RPM' | 'TPM', model: string) =>
      (await limiter().admit({ accountId, counters: [perMinute(type, model)] })).states[0]?.total;
    expect([await total('RPM', 'gpt-second'), await total('TPM', 'gpt-second')]).toEqual([1, 340]);
    expect([await total('RPM', 'gpt-stub'), await total('TPM', 'gpt-stub')]).toEqual([1, 0]);
  });

  it('that the balance does not cover is skipped without a remaining hold', async () => {
    const { key, accountId } = await newPayer(10n ** 9n);
    const asked = fallbacks('gpt-dear', 'gpt-third');
    const response = await world.chat(asked, { key });
    expect(await answeredBy(response)).toEqual([200, 'gpt-third']);
    await world.settled();
    const { rows } = await world.api.opened.dependencies.core.sql.query(
      'select sku from usage_entries where account_id = $1',
      [accountId],
    );
    expect(rows).toEqual([{ sku: 'gpt-third-llm-mtoken' }]);
  });

  it('with a shorter maximum answer than requested is skipped', async () => {
    const response = await world.chat({
      max_completion_tokens: 50,
      ...fallbacks('gpt-short', 'gpt-second'),
    });
    expect(await answeredBy(response)).toEqual([200, 'gpt-second']);
  });

  it('whose context is too small is skipped, and one with a larger context replaces a small first model', async () => {
    const messages = [{ role: 'user', content: 'A word or two. '.repeat(100) }];
    const first = await world.chat({ messages, ...fallbacks('gpt-small', 'gpt-second') });
    expect(await answeredBy(first)).toEqual([200, 'gpt-second']);
    world.second.received = [];
    const second = await world.chat({ model: 'gpt-small', messages, ...fallbacks('gpt-third') });
    expect(await answeredBy(second)).toEqual([200, 'gpt-third']);
    expect(world.second.received).toHaveLength(1);
  });

  it('is tried when an upstream finds the prompt too long for its model', async () => {
    world.stub.next = [{ status: 400, body: { error: { message: 'no', code: 'context_length_exceeded' } } }];
    expect(await answeredBy(await world.chat(fallbacks('gpt-second')))).toEqual([200, 'gpt-second']);
  });
});

it('the model of a character is checked against its own limits', async () => {
  const { key, accountId } = await newPayer(PLENTY);
  await limiter().correct(accountId, perMinute('RPM', 'gpt-second'), { count: 10_000 });
  const asked = { service_parameters: { character_slug: 'speaker' } };
  const response = await world.chat(asked, { key });
  expect([response.status, await response.json()]).toMatchObject([
    429,
    { customMessage: expect.stringContaining('requests per minute') },
  ]);
  expect(world.second.received).toEqual([]);
  await world.settled();
});

describe('a prompt beyond the context', () => {
  const EXCEEDED = {
    error: {
      message: expect.any(String),
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    },
  };

  it('is refused in the documented shape before any upstream call', async () => {
    const messages = [{ role: 'user', content: 'A word or two. '.repeat(100) }];
    const response = await world.chat({ model: 'gpt-small', messages });
    expect([response.status, await response.json()]).toEqual([400, EXCEEDED]);
    expect(world.second.received).toEqual([]);
    await world.settled();
  });

  it("is refused in the same shape when the upstream refuses it, without the upstream's words", async () => {
    const code = 'context_length_exceeded';
    for (const stream of [false, true]) {
      world.stub.next = [{ status: 400, body: { error: { message: 'words of the upstream', code } } }];
      const response = await world.chat({ stream });
      const body = await response.json();
      expect([response.status, body]).toEqual([400, EXCEEDED]);
      expect(JSON.stringify(body)).not.toContain('words of the upstream');
    }
    await world.settled();
  });

  it('by the estimate alone is counted exactly, and answered when it fits', async () => {
    // The estimate assumes under three letters per token. These words have twelve.
    const messages = [{ role: 'user', content: 'responsibly '.repeat(80) }];
    const response = await world.chat({ model: 'gpt-small', messages, max_tokens: 5 });
    expect(await answeredBy(response)).toEqual([200, 'gpt-small']);
  });
});
