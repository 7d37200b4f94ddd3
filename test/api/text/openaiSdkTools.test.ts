/** Tools, schemas and streams with the helpers of the published OpenAI SDK, with only its address changed. */
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import type { RunnableToolFunctionWithParse } from 'openai/lib/RunnableFunction';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startTextWorld, type TextWorld } from './textWorld.ts';

let world: TextWorld;
let client: OpenAI;

beforeAll(async () => {
  world = await startTextWorld();
  client = new OpenAI({ baseURL: world.api.baseUrl, apiKey: world.key, maxRetries: 0 });
});
beforeEach(() => {
  world.stub.next = [];
  world.stub.received.length = 0;
});
afterAll(() => world.close());

const USER = { role: 'user', content: 'What is the weather in Paris and in Rome?' } as const;
const ASK = { model: 'gpt-stub', messages: [USER] };
const place = z.object({ city: z.string() });
const WEATHER = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
} as const;
const call = (id: string, city: string) => ({ id, name: 'weather', arguments: JSON.stringify({ city }) });
const PARIS = call('call_paris', 'Paris');
const ROME = call('call_rome', 'Rome');
/** Both calls as clients see them. */
const CALLED = [PARIS, ROME].map(({ id, ...named }) => ({ id, type: 'function', function: named }));

describe('a tool call', () => {
  it('reaches the client with complete arguments, and its tool reaches the model unchanged', async () => {
    world.stub.next = [{ toolCalls: [PARIS] }];
    const { choices } = await client.chat.completions.create({
      ...ASK,
      ...{ tools: [WEATHER], tool_choice: { type: 'function', function: { name: 'weather' } } },
    });
    expect(choices[0]).toMatchObject({
      ...{ finish_reason: 'tool_calls', message: { content: null, tool_calls: [CALLED[0]] } },
    });
    expect(world.stub.received[0]?.body).toMatchObject({
      ...{ tools: [WEATHER], tool_choice: { type: 'function', function: { name: 'weather' } } },
    });
  });

  it('keeps its place and id beside another one', async () => {
    world.stub.next = [{ toolCalls: [PARIS, ROME] }];
    const asked = { ...ASK, tools: [WEATHER], parallel_tool_calls: true };
    const { choices } = await client.chat.completions.create(asked);
    expect(choices[0]?.message.tool_calls).toEqual(CALLED);
    expect(world.stub.received[0]?.body.parallel_tool_calls).toBe(true);
  });

  it('returns to the model unchanged, with its result', async () => {
    world.stub.next = [{ toolCalls: [PARIS, ROME] }, { tokens: ['Sun', ' in', ' both.'] }];
    const first = await client.chat.completions.create({ ...ASK, tools: [WEATHER] });
    const message = first.choices[0]?.message;
    if (!message) throw new Error('no message');
    const results = (message.tool_calls ?? []).map(({ id }) => {
      return { role: 'tool', tool_call_id: id, content: '{"sky":"clear"}' } as const;
    });
    const second = await client.chat.completions.create({
      ...ASK,
      ...{ messages: [USER, message, ...results], tools: [WEATHER] },
    });
    expect(second.choices[0]?.message.content).toBe('Sun in both.');
    expect(world.stub.received[1]?.body.messages).toEqual([
      USER,
      { role: 'assistant', content: null, tool_calls: CALLED },
      { role: 'tool', tool_call_id: 'call_paris', content: '{"sky":"clear"}' },
      { role: 'tool', tool_call_id: 'call_rome', content: '{"sky":"clear"}' },
    ]);
  });

  it.each([false, true])('is run by the SDK until the model has its answer (stream: %s)', async (stream) => {
    world.stub.next = [{ toolCalls: [PARIS, ROME] }, { tokens: ['Sun', ' in', ' both.'] }];
    const asked: string[] = [];
    const tool: RunnableToolFunctionWithParse<{ city: string }> = {
      type: 'function',
      function: {
        ...{ name: 'weather', description: 'The weather of a city', parse: JSON.parse },
        parameters: { ...WEATHER.function.parameters, required: ['city'] },
        function: ({ city }) => {
          asked.push(city);
          return `clear in ${city}`;
        },
      },
    };
    const runner = stream
      ? client.chat.completions.runTools({ ...ASK, stream: true, tools: [tool] })
      : client.chat.completions.runTools({ ...ASK, tools: [tool] });
    expect(await runner.finalContent()).toBe('Sun in both.');
    expect(asked).toEqual(['Paris', 'Rome']);
    const results = world.stub.received[1]?.body.messages?.filter(({ role }) => role === 'tool');
    expect(results?.map(({ content }) => content)).toEqual(['clear in Paris', 'clear in Rome']);
  });

  it('is parsed by the schema of a strict tool', async () => {
    world.stub.next = [{ toolCalls: [PARIS] }];
    const tools = [zodFunction({ name: 'weather', parameters: place })];
    const { choices } = await client.chat.completions.parse({ ...ASK, tools });
    const [first] = choices[0]?.message.tool_calls ?? [];
    expect(first?.type === 'function' && first.function.parsed_arguments).toEqual({ city: 'Paris' });
    expect(world.stub.received[0]?.body.tools?.[0]?.function).toMatchObject({
      name: 'weather',
      strict: true,
    });
  });
});

describe('a schema', () => {
  const report = z.object({ city: z.string(), degrees: z.number() });
  const response_format = zodResponseFormat(report, 'report');
  const TOLD = ['{"city":', '"Paris",', '"degrees":', '21}'];

  it('reaches the model unchanged, and its answer is parsed', async () => {
    world.stub.next = [{ tokens: TOLD }];
    const { choices } = await client.chat.completions.parse({ ...ASK, response_format });
    expect(choices[0]?.message.parsed).toEqual({ city: 'Paris', degrees: 21 });
    expect(world.stub.received[0]?.body.response_format).toEqual({
      ...{ type: 'json_schema', json_schema: { name: 'report', strict: true, schema: expect.any(Object) } },
    });
  });

  it('is parsed at the end of a stream, and partially before', async () => {
    world.stub.next = [{ tokens: TOLD }];
    const parsed: unknown[] = [];
    const stream = client.chat.completions.stream({ ...ASK, response_format });
    stream.on('content.delta', (event) => parsed.push(event.parsed));
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]?.message.parsed).toEqual({ city: 'Paris', degrees: 21 });
    expect(parsed).toContainEqual({ city: 'Paris' });
  });

  it.each([
    ['length', 'LengthFinishReasonError'],
    ['content_filter', 'ContentFilterFinishReasonError'],
  ])('of an answer that was cut by %s throws its own error', async (finishReason, name) => {
    world.stub.next = [{ tokens: TOLD.slice(0, 2), finishReason }];
    const error = await client.chat.completions.parse({ ...ASK, response_format }).catch((thrown) => thrown);
    expect(error.constructor.name).toBe(name);
  });
});

describe('a stream with the SDK helper', () => {
  it('assembles the calls chunk by chunk and at the end, with the usage', async () => {
    world.stub.next = [{ toolCalls: [PARIS, ROME] }];
    const stream = client.chat.completions.stream({
      ...{ ...ASK, tools: [WEATHER], stream_options: { include_usage: true } },
    });
    const pieces: Record<number, string> = {};
    const done: unknown[] = [];
    stream.on('tool_calls.function.arguments.delta', ({ index, arguments_delta: piece }) => {
      pieces[index] = (pieces[index] ?? '') + piece;
    });
    stream.on('tool_calls.function.arguments.done', ({ name, arguments: whole }) => done.push([name, whole]));
    const { choices, usage } = await stream.finalChatCompletion();
    expect(choices[0]?.finish_reason).toBe('tool_calls');
    expect(choices[0]?.message.tool_calls).toMatchObject(CALLED);
    expect(pieces).toEqual({ 0: PARIS.arguments, 1: ROME.arguments });
    expect(done).toEqual([PARIS, ROME].map((each) => [each.name, each.arguments]));
    expect(usage?.completion_tokens).toBeGreaterThan(0);
  });

  it('has the words and probabilities of each choice', async () => {
    world.stub.next = [{ tokens: ['one', ' two'] }];
    const stream = client.chat.completions.stream({ ...ASK, n: 2, logprobs: true });
    const { choices } = await stream.finalChatCompletion();
    expect(choices.map(({ message }) => message.content)).toEqual(['one two', 'one two']);
    for (const { logprobs } of choices) {
      expect(logprobs?.content?.map(({ token }) => token)).toEqual(['one', ' two']);
    }
  });

  it('that breaks off throws an API error after the received words', async () => {
    world.stub.next = [{ tokens: ['one', ' two', ' three'], cutAfterFrames: 3, pauseMs: 5 }];
    const stream = await client.chat.completions.create({ ...ASK, stream: true });
    let text = '';
    const read = async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error', type: 'api_error' });
    expect(text).toBe('one two');
  });

  it('is billed for the sent tokens when the client leaves', async () => {
    world.stub.next = [{ tokens: Array.from({ length: 50 }, (_, at) => ` w${at}`), pauseMs: 5 }];
    const stream = await client.chat.completions.create({ ...ASK, stream: true });
    let id = '';
    for await (const chunk of stream) {
      id = chunk.id;
      if (chunk.choices[0]?.delta.content) break;
    }
    await world.settled();
    expect((await world.entryOf(id))?.completionTokens).toBeGreaterThan(0);
  });
});
