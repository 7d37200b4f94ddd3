/** Upstream failures, and the reason that each is mapped to. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePorts } from '../../../dev/stack/freePorts.ts';
import type { UpstreamFailureReason } from '../../../domain/upstreamFailure.ts';
import { createOpenAi, type OpenAiOptions } from '../../../providers/openai/openai.ts';
import { type OpenAiStub, startOpenAiStub } from '../../stubs/openai.ts';
import type { ChatScript } from '../../stubs/openaiScript.ts';
import { LONG_TIMEOUTS, SHORT_TIMEOUTS } from '../../stubs/timeouts.ts';
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

const SECRET = 'stub-key';
const PROMPT = 'Say hello.';

function provider(change: Partial<OpenAiOptions> = {}) {
  const isSilent = stub.next.some(({ hang, delayMs }) => hang !== undefined || delayMs !== undefined);
  const timeouts = isSilent ? SHORT_TIMEOUTS : LONG_TIMEOUTS;
  const options = { name: 'llm', baseUrl: stub.baseUrl, apiKey: SECRET, allowPrivateNetwork: true, timeouts };
  const made = createOpenAi({ ...options, ...change });
  opened.push(made);
  return made;
}

const complete = () => provider().complete(chatRequest(), context());
const stream = () => provider().stream(chatRequest(), context());

const error = (fields: object) => ({ body: { error: { message: `no: ${PROMPT}`, param: null, ...fields } } });
const page = '<html><body>Bad gateway</body></html>';

const REPLIES: [string, ChatScript, UpstreamFailureReason][] = [
  ['400', { status: 400, ...error({ type: 'invalid_request_error', code: null }) }, 'refused'],
  ['400 context_length_exceeded', { status: 400, ...error({ code: 'context_length_exceeded' }) }, 'context_length'],
  [
    '400 of vLLM about the context',
    {
      status: 400,
      body: {
        ...{ object: 'error', type: 'BadRequestError', code: 400 },
        message: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
      },
    },
    'context_length',
  ],
  [
    '400 of llama.cpp about the context',
    { status: 400, body: { error: { code: 400, type: 'exceed_context_size_error', message: 'no' } } },
    'context_length',
  ],
  ['400 content_filter', { status: 400, ...error({ code: 'content_filter' }) }, 'content_policy'],
  ['400 content_policy_violation', { status: 400, ...error({ code: 'content_policy_violation' }) }, 'content_policy'],
  ['400 invalid_prompt', { status: 400, ...error({ code: 'invalid_prompt' }) }, 'content_policy'],
  [
    '400 of vLLM',
    { status: 400, body: { object: 'error', message: 'no', type: 'BadRequestError', code: 400 } },
    'refused',
  ],
  ['400 of a proxy', { status: 400, body: page }, 'failed'],
  ['401', { status: 401, ...error({ code: 'invalid_api_key' }) }, 'credential'],
  ['401 of a proxy', { status: 401, body: page }, 'credential'],
  ['402', { status: 402, ...error({ code: 'insufficient_balance' }) }, 'credential'],
  ['403', { status: 403, ...error({ code: 'unsupported_country_region_territory' }) }, 'credential'],
  ['404', { status: 404, ...error({ code: 'model_not_found' }) }, 'no_model'],
  ['404 of Ollama', { status: 404, body: { error: 'model "x" not found, try pulling it first' } }, 'no_model'],
  ['408', { status: 408 }, 'timeout'],
  ['413', { status: 413, body: page }, 'refused'],
  ['422 of FastAPI', { status: 422, body: { detail: 'value is not a valid integer' } }, 'refused'],
  ['429', { status: 429, ...error({ code: 'rate_limit_exceeded', type: 'tokens' }) }, 'rate_limited'],
  ['429 without words', { status: 429 }, 'rate_limited'],
  ['429 insufficient_quota', { status: 429, ...error({ code: 'insufficient_quota' }) }, 'credential'],
  ['500', { status: 500, ...error({ type: 'server_error' }) }, 'failed'],
  ['501', { status: 501 }, 'failed'],
  ['502 of a proxy', { status: 502, body: page }, 'failed'],
  ['503', { status: 503, ...error({ code: 'server_overloaded' }) }, 'overloaded'],
  ['503 of llama.cpp', { status: 503, ...error({ code: 503, type: 'unavailable_error' }) }, 'overloaded'],
  ['504', { status: 504, body: page }, 'timeout'],
  ['529', { status: 529 }, 'overloaded'],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, 'garbage'],
  ['no content', { status: 204 }, 'garbage'],
  ['a page with 200', { body: page }, 'garbage'],
  ['no byte with 200', { body: '' }, 'garbage'],
  ['half of a JSON', { body: '{"id":"x","choices":[' }, 'garbage'],
  ['no choice', { body: { id: 'x', choices: [] } }, 'garbage'],
  ['another shape', { body: { result: 'hello' } }, 'garbage'],
  ['a list', { body: [1] }, 'garbage'],
  ['a choice without a message', { body: { choices: [{ index: 0 }] } }, 'garbage'],
  ['content of another shape', { body: { choices: [{ message: { content: 7 } }] } }, 'garbage'],
  ['an error with 200', error({ message: 'CUDA error', type: 'server_error' }), 'failed'],
  ['an error with 200 and its status', error({ code: 503 }), 'overloaded'],
  ['a cut body', { headers: { 'content-length': '5000' }, raw: ['{"id"'], cutAfterFrames: 1 }, 'lost'],
  ['a lost reply', { lost: 'accepted' }, 'lost'],
  ['a closed door', { lost: 'unread' }, 'lost'],
  ['silence', { hang: 'head' }, 'timeout'],
  ['a late first byte', { delayMs: 2_000 }, 'timeout'],
];

describe('an error reply', () => {
  it.each(REPLIES)('%s', async (_what, script, reason) => {
    for (const ask of [complete, stream]) {
      stub.next.push(script);
      const failure = await failureOf(ask());
      expect(failure).toMatchObject({ reason });
      expect(`${failure.message} ${String(failure.cause)}`).not.toMatch(new RegExp(`${SECRET}|${PROMPT}|html`));
      const ours = reason === 'refused' || reason === 'content_policy';
      expect(failure.words !== undefined && failure.words !== '').toBe(ours);
    }
  });

  it('is logged with its status, names and id, and shown to the client with its message', async () => {
    stub.next.push({
      status: 400,
      ...error({ type: 'invalid_request_error', code: 'invalid_value' }),
    });
    expect(await failureOf(complete())).toMatchObject({
      message: 'HTTP 400 invalid_request_error invalid_value request req_1',
      words: `no: ${PROMPT}`,
      status: 400,
    });
  });

  it('longer than the cap closes the connection', async () => {
    stub.next.push({ body: { choices: [{ message: { content: 'x'.repeat(200_000) } }] } });
    const small = provider({ maxReplyBytes: 100_000 });
    expect(await failureOf(small.complete(chatRequest(), context()))).toMatchObject({ reason: 'garbage' });
  });
});

it.each([
  [{ 'retry-after': '7' }, 7_000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after-ms': '1500', 'retry-after': '7' }, 1_500],
  [{ 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-reset-tokens': '6m0s' }, 360_000],
  [
    {
      'x-ratelimit-reset-tokens': '20ms',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-requests': '8s',
    },
    20,
  ],
  [{ 'x-ratelimit-reset-requests': '1h' }, 600_000],
  [{ 'x-ratelimit-reset-requests': 'soon' }, undefined],
  [{ 'retry-after': 'soon' }, undefined],
  [{}, undefined],
])('a 429 with %j has a retry delay of %s ms', async (headers, retryAfterMs) => {
  stub.next.push({ status: 429, headers: headers as Record<string, string> });
  expect(await failureOf(complete())).toMatchObject({ reason: 'rate_limited', retryAfterMs });
});

describe('a stream', () => {
  const content = (text: string) => ({ id: 's', choices: [{ index: 0, delta: { content: text } }] });
  const finish = { id: 's', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const broken: [string, ChatScript, UpstreamFailureReason][] = [
    ['is cut in the middle', { cutAfterFrames: 4 }, 'lost'],
    ['ends in the middle', { endAfterFrames: 4 }, 'lost'],
    ['falls silent', { hang: 4 }, 'timeout'],
    ['has an error in the middle', { frames: [content('a'), { error: { message: 'x', code: 500 } }] }, 'failed'],
    ['is overloaded in the middle', { frames: [content('a'), { error: { code: 'server_overloaded' } }] }, 'overloaded'],
    ['has no JSON in the middle', { frames: [content('a'), '{"id":'] }, 'garbage'],
    ['has a list in the middle', { frames: [content('a'), '[1]'] }, 'garbage'],
    ['ends in the middle of a frame', { raw: [`data: ${JSON.stringify(content('a'))}\n\ndata: {"cho`] }, 'garbage'],
  ];
  it.each(broken)('that %s first yields the text before the failure', async (_what, script, reason) => {
    stub.next.push(script);
    const { failure, content: texts, finish: reasons } = await collect(await stream());
    expect(failure).toMatchObject({ reason });
    expect(texts[0]).not.toBe('');
    expect(reasons).toEqual([]);
  });

  const whole: [string, ChatScript][] = [
    ['ends without its last frame', { withoutDone: true }],
    ['is cut after its last choice', { frames: [content('a'), finish], cutAfterFrames: 2 }],
    ['has no reason', { frames: [content('a')] }],
    ['has frames of other kinds', { frames: [content('a'), { id: 's', choices: [] }, { ping: true }, finish] }],
    ['goes on after it ended', { frames: [content('a'), finish, '[DONE]', content('b')] }],
  ];
  it.each(whole)('that %s is complete', async (_what, script) => {
    stub.next.push(script);
    const { failure, finish: reasons, content: texts } = await collect(await stream());
    expect(failure).toBeUndefined();
    expect(reasons).toEqual(['stop']);
    expect(texts[0]).not.toContain('b]');
  });

  const early: [string, ChatScript, UpstreamFailureReason][] = [
    ['is cut before anything', { cutAfterFrames: 0 }, 'lost'],
    ['ends before anything', { endAfterFrames: 0 }, 'lost'],
    ['is silent after its head', { hang: 0 }, 'timeout'],
    ['begins with an error', { frames: [{ error: { code: 'server_overloaded' } }] }, 'overloaded'],
    ['is text', { raw: ['hello'] }, 'garbage'],
    ['says only that it ended', { frames: [], raw: ['data: [DONE]\n\n'] }, 'garbage'],
  ];
  it.each(early)('that %s fails before it opens', async (_what, script, reason) => {
    stub.next.push(script);
    expect(await failureOf(stream())).toMatchObject({ reason });
  });

  it('with pauses below the silence limit is not cut, however long it takes in all', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const tokens = ['a', 'b', 'c', 'd', 'e'];
    let text = '';
    const drip = async (sentTokens: number) => {
      await expect.poll(() => text.length).toBe(sentTokens);
      if (sentTokens < tokens.length) await vi.advanceTimersByTimeAsync(SHORT_TIMEOUTS.idleMs * 0.6);
    };
    stub.next.push({ tokens, pause: drip });
    const dripping = await provider({ timeouts: SHORT_TIMEOUTS }).stream(chatRequest(), context());
    for await (const events of dripping.events) {
      for (const event of events) text += event.type === 'delta' ? (event.delta.content ?? '') : '';
    }
    expect(text).toBe('abcde');
  });

  it('closes the upstream connection when its reader stops', async () => {
    stub.next.push({ tokens: Array.from({ length: 200 }, () => 'x'), pauseMs: 10 });
    for await (const _ of (await stream()).events) break;
    await expect.poll(() => stub.received[0]?.aborted).toBe(true);
    expect(stub.received[0]?.sentTokens).toBeLessThan(50);
  });

  it('closes the upstream connection and fails when the caller aborts it', async () => {
    stub.next.push({ tokens: Array.from({ length: 200 }, () => 'x'), pauseMs: 10 });
    const caller = new AbortController();
    const running = collect(await provider().stream(chatRequest(), context(caller.signal)));
    setTimeout(() => caller.abort(), 50);
    expect((await running).failure).toMatchObject({ reason: 'lost' });
    await expect.poll(() => stub.received[0]?.aborted).toBe(true);
  });
});

describe('a request that is not sent or not answered', () => {
  it('was certainly not sent after a closed port, an unknown name, a forbidden network or a missing TLS', async () => {
    const [port] = await freePorts(1);
    const options: Partial<OpenAiOptions>[] = [
      { baseUrl: `http://127.0.0.1:${port}/v1` },
      { baseUrl: 'http://nowhere.invalid/v1' },
      { allowPrivateNetwork: false },
      { baseUrl: stub.baseUrl.replace('http:', 'https:') },
    ];
    for (const change of options) {
      expect(await failureOf(provider(change).complete(chatRequest(), context()))).toMatchObject({
        reason: 'unreachable',
      });
    }
    expect(stub.received).toHaveLength(0);
  });

  it('is refused for an invalid header, and never replaces our credential', async () => {
    const ask = (e2eeHeaders: Record<string, string>) => provider().complete(chatRequest({ e2eeHeaders }), context());
    for (const headers of [{ 'x-e2ee': 'a\r\nb: c' }, { 'x y': 'a' }, { 'transfer-encoding': 'chunked' }]) {
      expect(await failureOf(ask(headers as Record<string, string>))).toMatchObject({
        reason: 'refused',
        words: expect.any(String),
      });
    }
    await ask({ Authorization: 'Bearer other', 'X-E2EE': 'sealed' });
    expect(stub.received.map(({ headers }) => [headers.authorization, headers['x-e2ee']])).toEqual([
      ['Bearer stub-key', 'sealed'],
    ]);
  });

  it('is not sent when the caller has already aborted', async () => {
    expect(await failureOf(provider().complete(chatRequest(), context(AbortSignal.abort())))).toMatchObject({
      reason: 'unreachable',
    });
    expect(stub.received).toHaveLength(0);
  });

  it("times out at the caller's deadline", async () => {
    stub.next.push({ hang: 'head' });
    const caller = new AbortController();
    const failure = failureOf(provider({ timeouts: LONG_TIMEOUTS }).complete(chatRequest(), context(caller.signal)));
    await expect.poll(() => stub.received.length).toBe(1);
    caller.abort(new DOMException('late', 'TimeoutError'));
    expect(await failure).toMatchObject({ reason: 'timeout' });
  });
});
