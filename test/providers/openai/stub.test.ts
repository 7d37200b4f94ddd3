/** Checks the stub with OpenAI's own client, so that tests of our adapter may rely on it. */
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type OpenAiStub, startOpenAiStub } from '../../stubs/openai.ts';

let stub: OpenAiStub;
beforeEach(async () => {
  stub = await startOpenAiStub();
});
afterEach(() => stub.close());

const client = (apiKey = 'stub-key') => new OpenAI({ apiKey, baseURL: stub.baseUrl, maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'Say hello.' }];
const weather = { type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } };

async function failure(work: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error: unknown = await Promise.resolve(work).catch((reason: unknown) => reason);
  if (!(error instanceof OpenAI.APIError)) throw new Error(`no error of the SDK: ${String(error)}`);
  return error;
}

it('completes, counts tokens and cuts at the maximum length', async () => {
  const whole = await client().chat.completions.create({ model: 'gpt-stub', messages });
  expect(whole.choices[0]?.message.content).toBe('Hello from the stub, in a few words.');
  expect(whole.choices[0]?.finish_reason).toBe('stop');
  expect(whole.usage?.completion_tokens).toBe(8);
  const cut = await client().chat.completions.create({
    model: 'gpt-stub',
    messages,
    max_completion_tokens: 3,
  });
  expect(cut.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: 'Hello from the' } });
  expect(stub.received.map(({ sentTokens }) => sentTokens)).toEqual([8, 3]);
});

it('streams, with the usage in the last chunk', async () => {
  const options = {
    model: 'gpt-stub',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  } as const;
  let text = '';
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of await client().chat.completions.create(options)) {
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage;
  }
  expect(text).toBe('Hello from the stub, in a few words.');
  expect(usage?.completion_tokens).toBe(stub.received[0]?.sentTokens);
});

it('calls tools, whole and streamed', async () => {
  const call = { id: 'call_a', name: 'weather', arguments: '{"city":"Bergen"}' };
  stub.otherwise = { toolCalls: [call] };
  const request = { model: 'gpt-stub', messages, tools: [weather], tool_choice: 'required' } as const;
  const whole = await client().chat.completions.create({ ...request, tools: [weather] });
  expect(whole.choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { content: null, tool_calls: [{ id: 'call_a', function: { name: 'weather' } }] },
  });
  const streamed = client().chat.completions.stream({ ...request, tools: [weather] });
  const [last] = (await streamed.finalChatCompletion()).choices;
  expect(last?.message.tool_calls?.[0]).toMatchObject({
    id: 'call_a',
    function: { name: 'weather', arguments: '{"city":"Bergen"}' },
  });
});

it('embeds, as numbers and as base64', async () => {
  for (const encoding_format of ['float', 'base64'] as const) {
    const input = ['one', 'three'];
    const { data, usage } = await client().embeddings.create({ model: 'embed-stub', input, encoding_format });
    expect(data).toHaveLength(2);
    expect(usage.prompt_tokens).toBe(2);
    if (encoding_format === 'float') expect(data[1]?.embedding).toEqual([5, 1.5, 1.5, 1.5]);
  }
});

it('lists models', async () => {
  const { data } = await client().models.list();
  expect(data.map(({ id }) => id)).toEqual(['gpt-stub', 'embed-stub']);
});

it('refuses a wrong key, an unknown model and an unknown field', async () => {
  const create = (change: object, key?: string) =>
    client(key).chat.completions.create({ model: 'gpt-stub', messages, ...change });
  expect(await failure(create({}, 'wrong'))).toMatchObject({ status: 401, code: 'invalid_api_key' });
  expect(await failure(create({ model: 'gpt-none' }))).toMatchObject({
    status: 404,
    code: 'model_not_found',
  });
  expect(await failure(create({ top_k: 3 }))).toMatchObject({ status: 400, type: 'invalid_request_error' });
});

it('limits, fails and breaks as configured', async () => {
  const create = () => client().chat.completions.create({ model: 'gpt-stub', messages });
  const error = { message: 'Rate limit reached', type: 'tokens', param: null, code: 'rate_limit_exceeded' };
  stub.next.push(
    { status: 429, headers: { 'retry-after': '7' }, body: { error } },
    { status: 500 },
    { lost: 'accepted' },
  );
  const limited = await failure(create());
  expect(limited).toBeInstanceOf(OpenAI.RateLimitError);
  expect(limited.headers?.get('retry-after')).toBe('7');
  expect(await failure(create())).toBeInstanceOf(OpenAI.InternalServerError);
  expect(await failure(create())).toBeInstanceOf(OpenAI.APIConnectionError);
  stub.next.push({ frames: [{ error: { message: 'overloaded', code: 'server_overloaded' } }] });
  const stream = await client().chat.completions.create({ model: 'gpt-stub', messages, stream: true });
  await expect(drain(stream)).rejects.toThrow('overloaded');
});

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}
