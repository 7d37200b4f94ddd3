import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ChatMessage, ChatRequest, MediaPart } from '../../../domain/text/chat.ts';
import type { UpstreamFailureReason } from '../../../domain/upstreamFailure.ts';
import { createAnthropic } from '../../../providers/anthropic/anthropic.ts';
import { type AnthropicScript, type AnthropicStub, type Block, startAnthropicStub } from '../../stubs/anthropic.ts';
import { LONG_TIMEOUTS } from '../../stubs/timeouts.ts';
import { chatRequest, collect, context, failureOf } from '../chatRequest.ts';

let stub: AnthropicStub;
let provider: ReturnType<typeof createAnthropic>;
beforeEach(async () => {
  stub = await startAnthropicStub();
  const { baseUrl, apiKey } = stub;
  provider = createAnthropic({
    name: 'claude',
    baseUrl: `${baseUrl}/v1/`,
    apiKey,
    allowPrivateNetwork: true,
    timeouts: LONG_TIMEOUTS,
  });
});
afterEach(async () => {
  await provider.close();
  await stub.close();
});

const claude = (change: Partial<ChatRequest> = {}) =>
  chatRequest({ upstreamModel: 'claude-sonnet-5', maxTokens: 4_000, ...change });
const complete = (change?: Partial<ChatRequest>) => provider.complete(claude(change), context());
const stream = (change?: Partial<ChatRequest>) => provider.stream(claude(change), context());

async function sent(change: Partial<ChatRequest>) {
  await complete(change);
  return stub.received.at(-1)?.body;
}

const THOUGHT: Block = { type: 'thinking', thinking: 'The weather is wanted.', signature: 'c2lnbmVk' };
const SEALED: Block = { type: 'redacted_thinking', data: 'c2VhbGVk' };
const CALL: Block = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Bergen' } };
const OTHER: Block = { type: 'tool_use', id: 'toolu_2', name: 'time', input: {} };
const TEXT: Block = { type: 'text', text: 'Let me see, naïve 🦀.' };

describe('a message', () => {
  it.each<[string, Block[]]>([
    ['of text', [TEXT]],
    ['of thoughts', [THOUGHT, SEALED, TEXT]],
    ['of calls', [THOUGHT, TEXT, CALL, OTHER]],
    ['of nothing', []],
  ])('%s is the same when streamed and when whole', async (_what, content) => {
    stub.otherwise = { content };
    const [choice] = (await complete()).choices;
    const streamed = await collect(await stream());
    expect(streamed.content[0] || null).toBe(choice?.message.content);
    expect(streamed.reasoning[0] ?? '').toBe(choice?.message.reasoning_content ?? '');
    const calls = choice?.message.tool_calls?.map(({ id, function: called }) => ({ id, ...called })) ?? [];
    expect(streamed.calls).toEqual(calls);
    expect(streamed.finish).toEqual([choice?.finishReason]);
    const details = streamed.events.flatMap((each) =>
      each.type === 'delta' ? (each.delta.reasoning_details ?? []) : [],
    );
    expect(details).toEqual(choice?.message.reasoning_details ?? []);
    expect(streamed.failure).toBeUndefined();
  });

  it('returns thinking blocks to the service unchanged, redacted ones included', async () => {
    stub.next.push({ content: [THOUGHT, SEALED, TEXT, CALL] });
    const [choice] = (await complete()).choices;
    if (choice === undefined) throw new Error('no choice');
    const messages: ChatMessage[] = [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', ...choice.message },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'rain' },
    ];
    expect((await sent({ messages }))?.messages[1]?.content).toEqual([THOUGHT, SEALED, TEXT, CALL]);
  });

  it('returns thinking to the service only with its signature', async () => {
    const said = { role: 'assistant', content: 'Hm.', reasoning_content: 'I think' } as const;
    const user = { role: 'user', content: 'And?' } as const;
    const signed = await sent({ messages: [user, { ...said, thought_signature: 'c2ln' }, user] });
    expect(signed?.messages[1]?.content).toEqual([
      { type: 'thinking', thinking: 'I think', signature: 'c2ln' },
      { type: 'text', text: 'Hm.' },
    ]);
    const unsigned = await sent({ messages: [user, said, user] });
    expect(unsigned?.messages[1]?.content).toEqual([{ type: 'text', text: 'Hm.' }]);
  });

  it('includes cached tokens in the prompt tokens', async () => {
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: 200,
      cache_creation_input_tokens: 30,
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 4 },
    };
    stub.otherwise = { usage };
    const expected = {
      promptTokens: 240,
      cachedTokens: 200,
      cacheWriteTokens: 30,
      completionTokens: 7,
      reasoningTokens: 4,
    };
    expect((await complete()).usage).toEqual(expected);
    expect((await collect(await stream())).usage).toEqual(expected);
  });

  it('reports tokens written to the one-hour cache separately', async () => {
    const cache_creation = { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 };
    const caching = { cache_read_input_tokens: 0, cache_creation_input_tokens: 30, cache_creation };
    stub.otherwise = { usage: { input_tokens: 10, output_tokens: 7, ...caching } };
    const expected = { promptTokens: 40, cacheWriteTokens: 30, hourCacheWriteTokens: 20 };
    expect((await complete()).usage).toMatchObject(expected);
    expect((await collect(await stream())).usage).toMatchObject(expected);
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['new', 'stop'],
  ])('maps the stop reason %s to %s', async (stopReason, reason) => {
    stub.otherwise = { stopReason };
    expect((await complete()).choices[0]?.finishReason).toBe(reason);
    expect((await collect(await stream())).finish).toEqual([reason]);
  });
});

describe('a request', () => {
  it('puts all system messages into one prompt, alternates turns and puts tool results first', async () => {
    const mark = { type: 'ephemeral', ttl: '1h' } as const;
    const png = {
      type: 'image',
      bytes: Buffer.from('png'),
      mediaType: 'image/png',
      pixels: 64 * 64,
      cache_control: mark,
    } as const;
    const call = { id: 'toolu_1', type: 'function', function: { name: 'weather', arguments: '' } } as const;
    const body = await sent({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'Look' }, png] },
        { role: 'user', content: 'And the weather?' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'user', content: 'Quick!' },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'rain' },
        { role: 'developer', content: [{ type: 'text', text: 'In French.', cache_control: mark }] },
        { role: 'assistant', content: '' },
      ],
    });
    expect(body?.system).toEqual([
      { type: 'text', text: 'Be brief.' },
      { type: 'text', text: 'In French.', cache_control: mark },
    ]);
    const source = { type: 'base64', media_type: 'image/png', data: 'cG5n' };
    expect(body?.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', source, cache_control: mark },
          { type: 'text', text: 'And the weather?' },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'rain' },
          { type: 'text', text: 'Quick!' },
        ],
      },
    ]);
  });

  const tools = [{ name: 'weather', parameters: { properties: {} }, strict: true }];
  it.each<[Partial<ChatRequest>, object]>([
    [{ tools }, { tools: [{ name: 'weather', input_schema: { type: 'object', properties: {} }, strict: true }] }],
    [{ tools, toolChoice: 'auto' }, { tool_choice: { type: 'auto' } }],
    [{ tools, toolChoice: 'none' }, { tool_choice: { type: 'none' } }],
    [{ tools, toolChoice: 'required' }, { tool_choice: { type: 'any' } }],
    [{ tools, toolChoice: { name: 'weather' } }, { tool_choice: { type: 'tool', name: 'weather' } }],
    [{ tools, parallelToolCalls: false }, { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }],
    [{ sampling: { stop: ['END', ' \n'] } }, { stop_sequences: ['END'] }],
    [{ reasoning: { effort: 'high' } }, { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
    [{ reasoning: { effort: 'none' } }, { thinking: { type: 'disabled' } }],
    [{ reasoning: { enabled: false }, upstreamModel: 'claude-sonnet-5-5' }, { thinking: { type: 'between_tools' } }],
    [{ reasoning: { enabled: false }, upstreamModel: 'claude-opus-5-5' }, { output_config: { effort: 'low' } }],
    [
      { reasoning: { effort: 'medium' }, upstreamModel: 'claude-haiku-4-5', sampling: { temperature: 0.3 } },
      { thinking: { type: 'enabled', budget_tokens: 2_000 } },
    ],
    [{ sampling: { temperature: 1.7, top_p: 0.5 }, upstreamModel: 'claude-haiku-4-5' }, { temperature: 1 }],
    [{ sampling: { min_temp: 0.1, max_temp: 0.4 }, upstreamModel: 'claude-haiku-4-5' }, { temperature: 0.4 }],
    [
      { responseFormat: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } } },
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    ],
    [{ responseFormat: { type: 'json_object' } }, { system: [{ type: 'text' }] }],
    [{ promptCache: { retentionSeconds: 86_400 } }, { cache_control: { type: 'ephemeral', ttl: '1h' } }],
    [{ promptCache: { retentionSeconds: 3_000 } }, { cache_control: { type: 'ephemeral', ttl: '1h' } }],
    [{ promptCache: { retentionSeconds: 600 } }, { cache_control: { type: 'ephemeral', ttl: '5m' } }],
    [{ promptCache: { key: 'k' } }, { metadata: { user_id: 'end-user-1' } }],
  ])('given %j contains %j', async (change, expected) => {
    expect(await sent(change)).toMatchObject(expected);
  });

  it('leaves out thinking without room for its budget or with a forced call, and sampling for a newer model', async () => {
    const older = { upstreamModel: 'claude-haiku-4-5', reasoning: { effort: 'high' } } as const;
    expect(await sent({ ...older, maxTokens: 1_024 })).not.toHaveProperty('thinking');
    expect(await sent({ ...older, tools, toolChoice: 'required' })).not.toHaveProperty('thinking');
    expect(await sent({ sampling: { temperature: 0.5, top_k: 3 } })).not.toHaveProperty('temperature');
  });

  it('is refused before it is sent if it has several choices, a recording or an unsupported image type', async () => {
    const bytes = Buffer.from('x');
    const shows = (part: MediaPart): Partial<ChatRequest> => ({
      messages: [{ role: 'user', content: [part] }],
    });
    const sound = shows({ type: 'audio', bytes, mediaType: 'audio/wav', seconds: 1 });
    const picture = shows({ type: 'image', bytes, mediaType: 'image/heic', pixels: 1 });
    for (const change of [{ n: 2 }, { sampling: { logit_bias: { '1': 1 } } }, sound, picture]) {
      expect(await failureOf(complete(change))).toMatchObject({
        reason: 'refused',
        words: expect.any(String),
      });
    }
    expect(stub.received).toHaveLength(0);
  });
});

describe('a failure', () => {
  const error = (type: string, message = 'no', details?: object) => ({
    body: { type: 'error', error: { type, message, details } },
  });
  const replies: [string, AnthropicScript, UpstreamFailureReason][] = [
    ['400', { status: 400, ...error('invalid_request_error') }, 'refused'],
    [
      '400 about the context',
      {
        status: 400,
        ...error('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
      },
      'context_length',
    ],
    [
      '400 about the context with the answer',
      {
        status: 400,
        ...error(
          'invalid_request_error',
          'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
        ),
      },
      'context_length',
    ],
    [
      '400 filtered',
      { status: 400, ...error('invalid_request_error', 'Output blocked by content filtering policy') },
      'content_policy',
    ],
    [
      '400 empty account',
      { status: 400, ...error('invalid_request_error', 'Your credit balance is too low') },
      'credential',
    ],
    ['401', { status: 401, ...error('authentication_error') }, 'credential'],
    ['402', { status: 402, ...error('billing_error') }, 'credential'],
    ['403', { status: 403, ...error('permission_error') }, 'credential'],
    ['404', { status: 404, ...error('not_found_error') }, 'no_model'],
    ['413', { status: 413, ...error('request_too_large') }, 'refused'],
    ['413 of a proxy', { status: 413, body: '<html></html>' }, 'refused'],
    ['429', { status: 429, ...error('rate_limit_error') }, 'rate_limited'],
    [
      '429 spent',
      { status: 429, ...error('rate_limit_error', 'no', { error_code: 'enforced_spend_limit_reached' }) },
      'credential',
    ],
    ['500', { status: 500, ...error('api_error') }, 'failed'],
    ['502 of a proxy', { status: 502, body: '<html></html>' }, 'failed'],
    ['504', { status: 504, ...error('timeout_error') }, 'timeout'],
    ['529', { status: 529, ...error('overloaded_error') }, 'overloaded'],
    ['an error with 200', error('overloaded_error'), 'overloaded'],
    ['a page with 200', { body: '<html></html>' }, 'garbage'],
    ['another shape', { body: { choices: [] } }, 'garbage'],
  ];
  it.each(replies)('%s', async (_what, script, reason) => {
    stub.next.push(script, script);
    expect(await failureOf(complete())).toMatchObject({ reason });
    expect(await failureOf(stream())).toMatchObject({ reason });
  });

  it('reports the retry delay of the service', async () => {
    const limited = { status: 429, ...error('rate_limit_error') };
    stub.next.push({ ...limited, headers: { 'retry-after': '12' } });
    expect(await failureOf(complete())).toMatchObject({
      retryAfterMs: 12_000,
      message: 'HTTP 429 rate_limit_error request req_1',
    });
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const at = new Date(Date.now() + 30_000).toISOString();
    const headers = { 'anthropic-ratelimit-tokens-remaining': '0', 'anthropic-ratelimit-tokens-reset': at };
    stub.next.push({ ...limited, headers });
    expect(await failureOf(complete())).toMatchObject({ retryAfterMs: 30_000 });
  });

  it('arrives after the text that the stream sent before it', async () => {
    stub.next.push({ errorAfterFrames: { frames: 5, type: 'overloaded_error' } }, { cutAfterFrames: 5 });
    for (const reason of ['overloaded', 'lost']) {
      const { content, failure } = await collect(await stream());
      expect(content[0]).not.toBe('');
      expect(failure).toMatchObject({ reason });
    }
  });

  it('fails the call when it comes before the first frame of a stream', async () => {
    stub.next.push({ errorAfterFrames: { frames: 0, type: 'overloaded_error' } });
    expect(await failureOf(stream())).toMatchObject({ reason: 'overloaded' });
  });

  it('closes the connection when the reader stops', async () => {
    stub.next.push({ pauseMs: 20 });
    for await (const _ of (await stream()).events) break;
    await expect.poll(() => stub.received[0]?.aborted).toBe(true);
  });
});
