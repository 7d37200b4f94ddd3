import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../domain/text/chat.ts';
import { createOpenAi, type OpenAiOptions } from '../../../providers/openai/openai.ts';
import { type OpenAiStub, startOpenAiStub } from '../../stubs/openai.ts';
import type { ChatScript } from '../../stubs/openaiScript.ts';
import { chatRequest, collect, context, failureOf } from '../chatRequest.ts';

let stub: OpenAiStub;
let opened: ReturnType<typeof createOpenAi>[];
beforeEach(async () => {
  stub = await startOpenAiStub();
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map((each) => each.close()));
  await stub.close();
});

function provider(change: Partial<OpenAiOptions> = {}) {
  const { baseUrl, apiKey } = stub;
  const options = {
    name: 'llm',
    baseUrl,
    apiKey,
    allowPrivateNetwork: true,
    dialect: 'openai' as const,
    ...change,
  };
  const made = createOpenAi(options);
  opened.push(made);
  return made;
}

const complete = (change?: Partial<ChatRequest>) => provider().complete(chatRequest(change), context());
const stream = async (change?: Partial<ChatRequest>) =>
  collect(await provider().stream(chatRequest(change), context()));

const TEXT = 'Hello from the stub, in a few words.';

describe('a completion', () => {
  it('arrives whole with the usage of the service', async () => {
    expect(await complete()).toEqual({
      choices: [{ index: 0, message: { content: TEXT }, finishReason: 'stop' }],
      usage: {
        promptTokens: 2,
        cachedTokens: 0,
        cacheWriteTokens: 0,
        completionTokens: 8,
        reasoningTokens: 0,
      },
      upstreamId: 'chatcmpl-stub',
      upstreamModel: 'gpt-stub',
    });
    expect(stub.received[0]?.headers).toMatchObject({
      authorization: 'Bearer stub-key',
      'user-agent': 'Farebox',
    });
  });

  it('is the same when streamed and whole, for text, reasoning, calls, several choices and probabilities', async () => {
    const scripts: [ChatScript, Partial<ChatRequest>][] = [
      [{}, {}],
      [{}, { n: 3 }],
      [{}, { maxTokens: 2 }],
      [{}, { logprobs: { top: 1 } }],
      [{ reasoning: ['Let', ' me', ' think.'] }, {}],
      [{ reasoning: ['Let', ' me'], reasoningField: 'reasoning' }, {}],
      [{ toolCalls: [{ name: 'weather', arguments: '{"city":"Bergen"}' }] }, {}],
      [
        {
          toolCalls: [
            { name: 'a', arguments: '{}' },
            { name: 'b', arguments: '{"x":1}' },
          ],
        },
        {},
      ],
      [{ tokens: ['naïve', ' 🦀🦀', ' 漢字'], pieceBytes: 3 }, {}],
      [{ oddFraming: true, pieceBytes: 7 }, {}],
      [{ toolCalls: [{ name: 'a', arguments: '{}' }], finishReason: 'stop' }, {}],
    ];
    for (const [script, change] of scripts) {
      stub.otherwise = script;
      const whole = await complete(change);
      const streamed = await stream(change);
      const [first] = whole.choices;
      expect(streamed.content.map((text) => text || null)).toEqual(whole.choices.map((each) => each.message.content));
      expect(streamed.reasoning[0]).toBe(first?.message.reasoning_content ?? '');
      expect(streamed.calls.map(({ id, ...each }) => ({ id, type: 'function', function: each }))).toEqual(
        first?.message.tool_calls ?? [],
      );
      expect(streamed.finish).toEqual(whole.choices.map((each) => each.finishReason));
      expect(streamed.usage).toEqual(whole.usage);
    }
  });

  it('of a service without streaming is a stream of one piece', async () => {
    stub.next.push({
      body: { id: 'x', choices: [{ index: 0, message: { content: 'All.' }, finish_reason: 'stop' }] },
    });
    expect(await stream()).toMatchObject({
      content: ['All.'],
      finish: ['stop'],
      batches: 1,
      usage: undefined,
    });
  });

  it('reports missing usage, whole and streamed', async () => {
    stub.otherwise = { usage: null };
    expect((await complete()).usage).toBeUndefined();
    expect(await stream()).toMatchObject({ usage: undefined, finish: ['stop'], failure: undefined });
  });
});

describe('usage', () => {
  const tokens = {
    promptTokens: 10,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    completionTokens: 5,
    reasoningTokens: 0,
  };
  const base = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  it.each([
    [base, tokens],
    [
      { ...base, prompt_tokens_details: { cached_tokens: 4 } },
      { ...tokens, cachedTokens: 4 },
    ],
    [
      { ...base, prompt_tokens_details: { cached_tokens: 40 } },
      { ...tokens, cachedTokens: 10 },
    ],
    [
      { ...base, prompt_cache_hit_tokens: 3 },
      { ...tokens, cachedTokens: 3 },
    ],
    [
      { ...base, prompt_tokens_details: { cache_creation_input_tokens: 6 } },
      { ...tokens, cacheWriteTokens: 6 },
    ],
    [
      { ...base, completion_tokens_details: { reasoning_tokens: 2 } },
      { ...tokens, reasoningTokens: 2 },
    ],
    [
      { ...base, total_tokens: 22, completion_tokens_details: { reasoning_tokens: 7 } },
      { ...tokens, completionTokens: 12, reasoningTokens: 7 },
    ],
    [{ prompt_tokens: 10 }, { ...tokens, completionTokens: 0 }],
    [{ prompt_tokens: 10, total_tokens: 15 }, tokens],
    [{ ...base, prompt_tokens_details: null }, tokens],
    [{ prompt_tokens: -1, completion_tokens: 5 }, undefined],
    [{ prompt_tokens: 1.5, completion_tokens: 5 }, undefined],
    [{ prompt_tokens: '10', completion_tokens: 5 }, undefined],
    [{ completion_tokens: 5 }, undefined],
  ])('%j', async (usage, expected) => {
    stub.otherwise = { usage };
    expect((await complete()).usage).toEqual(expected);
    expect((await stream()).usage).toEqual(expected);
  });
});

describe('the finish reason', () => {
  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool_calls', 'tool_calls'],
    ['function_call', 'tool_calls'],
    ['content_filter', 'content_filter'],
    ['max_tokens', 'length'],
    ['something_new', 'stop'],
  ])('maps %s to %s', async (finishReason, expected) => {
    stub.otherwise = { finishReason };
    expect((await complete()).choices[0]?.finishReason).toBe(expected);
    expect((await stream()).finish).toEqual([expected]);
  });

  it('fails when it reports a failure of the service', async () => {
    stub.otherwise = { finishReason: 'error' };
    expect(await failureOf(complete())).toMatchObject({ reason: 'failed' });
    expect(await stream()).toMatchObject({ content: [TEXT], failure: { reason: 'failed' } });
  });
});

describe('tool calls', () => {
  const calls = [
    { id: 'one', name: 'weather', arguments: '{"city":"Bergen"}' },
    { id: 'two', name: 'time', arguments: '{"zone":"CET"}' },
  ];
  const delta = (tool_calls: unknown[]) => ({ choices: [{ index: 0, delta: { tool_calls } }] });
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
  const whole = (at: number, id = calls[at]?.id) => ({
    id,
    type: 'function',
    function: { name: calls[at]?.name, arguments: calls[at]?.arguments },
  });

  it('are assembled without an index', async () => {
    stub.next.push({ toolCalls: calls, withoutCallIndex: true });
    expect((await stream()).calls).toEqual(calls);
  });

  it('are distinguished by their ids if every index is 0', async () => {
    stub.next.push({ frames: [delta([{ index: 0, ...whole(0) }]), delta([{ index: 0, ...whole(1) }]), end] });
    expect((await stream()).calls).toEqual(calls);
  });

  it('of the legacy form without an id get one', async () => {
    stub.next.push({
      frames: [{ choices: [{ index: 0, delta: { function_call: { name: 'f', arguments: '{' } } }] }, end],
    });
    const [first] = (await stream()).calls;
    expect(first).toMatchObject({ id: expect.stringMatching(/^call_\w{32}$/), name: 'f', arguments: '{' });
    const message = { content: null, function_call: { name: 'f', arguments: '{}' } };
    stub.next.push({ body: { choices: [{ index: 0, message, finish_reason: 'function_call' }] } });
    expect((await complete()).choices[0]).toMatchObject({
      finishReason: 'tool_calls',
      message: { tool_calls: [{ id: expect.stringMatching(/^call_/), function: { name: 'f' } }] },
    });
  });

  it('with parsed arguments are serialised to JSON again', async () => {
    const call = { id: 'a', function: { name: 'f', arguments: { x: 1 } } };
    stub.next.push({ frames: [delta([call]), end] });
    expect((await stream()).calls).toEqual([{ id: 'a', name: 'f', arguments: '{"x":1}' }]);
  });
});

it('returns embeddings in the order of the inputs, from numbers and from base64', async () => {
  const request = {
    upstreamModel: 'embed-stub',
    inputs: ['one', 'three', 'five5'],
    dimensions: 3,
    endUser: 'u',
  };
  const { vectors, promptTokens } = await provider().embed(request, context());
  expect(vectors.map((vector) => [...vector])).toEqual([
    [3, 0.5, 0.5],
    [5, 1.5, 1.5],
    [5, 2.5, 2.5],
  ]);
  expect(promptTokens).toBe(3);
  const data = [2, 0, 1].map((index) => ({ index, embedding: [index, 1] }));
  stub.next.push({ body: { data } });
  const turned = await provider().embed(request, context());
  expect(turned).toEqual({
    vectors: [0, 1, 2].map((index) => Float32Array.of(index, 1)),
    promptTokens: undefined,
  });
});

it.each([
  [{ data: [] }],
  [{ data: [{ index: 0, embedding: [] }] }],
  [{ data: [{ index: 1, embedding: [1] }] }],
  [{ data: [{ index: 0, embedding: ['a'] }] }],
  [{ data: [{ index: 0, embedding: 'abc' }] }],
  [{ data: [{ index: 0, embedding: [null] }] }],
])('refuses embeddings of another shape as garbage: %j', async (body) => {
  stub.next.push({ body });
  const request = { upstreamModel: 'embed-stub', inputs: ['one'], endUser: 'u' };
  expect(await failureOf(provider().embed(request, context()))).toMatchObject({ reason: 'garbage' });
});
