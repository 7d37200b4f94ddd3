/** The published OpenAI SDK with only its address changed. */
import { randomUUID } from 'node:crypto';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grant } from '../../../infra/postgres/ledger.ts';
import { startApi, type TestApi } from '../startApi.ts';

let api: TestApi;
let client: OpenAI;
let accountId: string;

beforeAll(async () => {
  api = await startApi();
  const key = await api.newKey('INFERENCE');
  accountId = key.accountId;
  await grant(api.opened.dependencies.core.sql, {
    operationId: randomUUID(),
    accountId,
    currency: 'usd',
    amount: 10n ** 10n,
    notes: 'test',
  });
  client = new OpenAI({ baseURL: api.baseUrl, apiKey: key.secret, maxRetries: 0 });
});

afterAll(async () => {
  await api.stop();
});

const HELLO = [{ role: 'user', content: 'Hello there' }] as const;

describe('the OpenAI SDK', () => {
  it('lists the models', async () => {
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toContain('simulator-text');
  });

  it('gets a completion with its usage and its cost', async () => {
    const completion = await client.chat.completions.create({
      model: 'simulator-text',
      messages: [...HELLO],
    });
    expect(completion.object).toBe('chat.completion');
    expect(completion.choices[0]?.message.content).toContain('Hello there');
    expect(completion.choices[0]?.finish_reason).toBe('stop');
    const { usage } = completion;
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    expect((completion as unknown as { cost: { usd: number } }).cost.usd).toBeGreaterThan(0);
  });

  it('streams the same words, with the usage and the balance last', async () => {
    const whole = await client.chat.completions.create({ model: 'simulator-text', messages: [...HELLO] });
    const stream = await client.chat.completions.create({
      ...{ model: 'simulator-text', messages: [...HELLO], stream: true },
      stream_options: { include_usage: true },
    });
    let text = '';
    let last: OpenAI.ChatCompletionChunk | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      last = chunk;
    }
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(last?.usage).toEqual(whole.usage);
    expect(last).toMatchObject({
      choices: [],
      cost: { usd: expect.any(Number) },
      balance: { usd: expect.any(Number) },
    });
  });

  it('gets the same vectors as floats and as base64', async () => {
    const order = { model: 'local-lexical-embedding', input: ['one two', 'three'] };
    const asked = await client.embeddings.create(order);
    const floats = await client.embeddings.create({ ...order, encoding_format: 'float' });
    expect(asked.data.map(({ embedding }) => embedding)).toEqual(floats.data.map(({ embedding }) => embedding));
    expect(asked.data[0]?.embedding).toHaveLength(512);
  });

  it('requests vectors as base64 by default, and gets float32 in it', async () => {
    const order = { model: 'local-lexical-embedding', input: 'one two' };
    const sent: unknown[] = [];
    const watched = client.withOptions({
      fetch: (url, init) => {
        sent.push(JSON.parse(String(init?.body)).encoding_format);
        return fetch(url, init);
      },
    });
    const { data } = await watched.embeddings.create(order);
    const told = await watched.embeddings.create({ ...order, encoding_format: 'base64' });
    expect(sent).toEqual(['base64', 'base64']);
    const bytes = Buffer.from(String(told.data[0]?.embedding), 'base64');
    const floats = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
    expect(floats).toEqual(data[0]?.embedding);
  });

  it('gets the highest token count of vectors in a dry run, with two marks per text', async () => {
    const dry = await client.embeddings.create(
      { model: 'local-lexical-embedding', input: ['1 2 3', 'a'], encoding_format: 'float' },
      { headers: { 'x-service-dry-run': 'true' } },
    );
    expect(dry).toMatchObject({ object: 'dry_run', bounds: [{ prompt_tokens: 5 + 2 + 1 + 2 }] });
  });

  it('throws its own error classes', async () => {
    const wrongKey = new OpenAI({ baseURL: api.baseUrl, apiKey: `sk-${'x'.repeat(40)}`, maxRetries: 0 });
    await expect(wrongKey.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    const messages = [...HELLO];
    await expect(client.chat.completions.create({ model: 'nobody', messages })).rejects.toBeInstanceOf(
      OpenAI.NotFoundError,
    );
    await expect(
      client.chat.completions.create({ model: 'simulator-text', messages, temperature: 3 }),
    ).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  });
});

describe('the books', () => {
  it('match the answer to the last nano', async () => {
    const response = await client.chat.completions
      .create({ model: 'simulator-text', messages: [{ role: 'user', content: 'count this' }] })
      .asResponse();
    const body = (await response.json()) as {
      id: string;
      cost: { usd: number };
      usage: Record<string, number>;
    };
    const { sql } = api.opened.dependencies.core;
    const { rows } = await sql.query(
      'select sku, amount_nano::text as amount, prompt_tokens, completion_tokens from usage_entries where account_id = $1 and request_id = $2',
      [accountId, body.id],
    );
    expect(rows).toEqual([
      {
        sku: 'simulator-text-llm-mtoken',
        amount: String(Math.round(body.cost.usd * 1e9)),
        prompt_tokens: String(body.usage.prompt_tokens),
        completion_tokens: String(body.usage.completion_tokens),
      },
    ]);
  });

  it('have no open hold', async () => {
    const { sql } = api.opened.dependencies.core;
    const { rows } = await sql.query('select count(*)::int as open from holds');
    expect(rows).toEqual([{ open: 0 }]);
  });
});
