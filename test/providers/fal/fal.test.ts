import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../providers/shared/provider.ts';
import { type FalStub, type StubOrder, startFalStub } from '../../stubs/fal/fal.ts';
import type { FalFault, FalStage } from '../../stubs/fal/faults.ts';
import { STUB_AUDIO, STUB_VIDEO, smallMp4 } from '../../stubs/smallMedia.ts';
import { type Caller, checked, createCaller, music, VIDEO, video } from './callFal.ts';

let stub: FalStub;
let caller: Caller;
beforeAll(async () => {
  caller = await createCaller(() => stub);
});
afterAll(() => caller.close());
beforeEach(async () => {
  stub = await startFalStub();
});
afterEach(() => stub.close());

function orderOf(stubbed: FalStub): StubOrder {
  const [order] = stubbed.orders;
  if (!order) throw new Error('nothing was ordered');
  return order;
}

/** Fails on additional members too, unlike `toMatchObject`. */
function expectOutcome(outcome: Outcome, wanted: object): void {
  expect(outcome).toMatchObject(wanted);
  if (outcome.status === 'refused' || outcome.status === 'busy' || outcome.status === 'unknown') {
    const words = [outcome.detail ?? '', 'message' in outcome ? outcome.message : ''];
    for (const text of words) {
      expect(text.length).toBeLessThanOrEqual(400);
      expect(text).not.toMatch(/[\n\0]|stub-secret|https?:/);
    }
  }
}

describe('an order', () => {
  it('for a video is submitted, polled with its progress, and its file delivered', async () => {
    stub.steps = [
      { status: 'IN_QUEUE', queuePosition: 3 },
      { status: 'IN_PROGRESS', logs: ['loading', '  7%|▋  | 2/30', ' 45%|████▌     | 18/40'] },
    ];
    const provider = caller.provider();
    const callbackUrl = 'https://shop.example/calls/fal?job=1';
    const started = await provider.start(video(), await caller.context({ callbackUrl }));
    if (started.status !== 'running') throw new Error(started.status);
    const { requestId } = orderOf(stub);
    expect(started.operation).toEqual({ endpoint: VIDEO, requestId, kind: 'video' });
    const { operation } = started;
    const ask = async () => checked(provider, operation, await caller.context());
    expect(await ask()).toEqual({ status: 'running', operation });
    expect(await ask()).toEqual({ status: 'running', operation, percent: 45 });
    const done = await ask();
    if (done.status !== 'done') throw new Error(JSON.stringify(done));
    expect(await readFile(done.output.path)).toEqual(STUB_VIDEO);
    expect(done.output).toMatchObject({
      contentType: 'video/mp4',
      providerReference: `fal request ${requestId}`,
    });
    expect(orderOf(stub)).toMatchObject({
      model: VIDEO,
      input: { prompt: 'a red panda', duration: '5', resolution: '720p', aspect_ratio: '16:9' },
      webhook: callbackUrl,
      headers: { 'x-fal-store-io': '0', 'x-fal-object-lifecycle-preference': expect.stringMatching(/86400/) },
    });
  });

  it('for music delivers audio', async () => {
    const outcome = await caller.run(music({ durationSeconds: 20 }));
    if (outcome.status !== 'done') throw new Error(JSON.stringify(outcome));
    expect(outcome.output.contentType).toBe('audio/mpeg');
    expect(await readFile(outcome.output.path)).toEqual(STUB_AUDIO);
    expect(orderOf(stub).input).toEqual({ prompt: 'calm rain', seconds_total: 20 });
  });

  it('without a callback URL sends none', async () => {
    await caller.run(music());
    expect(orderOf(stub).webhook).toBeUndefined();
  });

  it('of an app in a namespace is polled under all three parts of its name', async () => {
    const upstreamModel = 'workflows/somebody/some-flow';
    expect((await caller.run(video({ upstreamModel }))).status).toBe('done');
  });

  it.each(['', 'justone', '../x', 'a/../b', 'a//b', 'a/b?c', 'a/b#c', 'a/.b', 'https://x/y'])(
    'never uses a path outside the queue for the endpoint %j',
    async (upstreamModel) => {
      const outcome = await caller.run(music({ upstreamModel }));
      expect(outcome).toMatchObject({ status: 'refused', reason: 'credential' });
      expect(stub.calls).toEqual([]);
    },
  );

  it('for a voice change is not supported', async () => {
    const request = { kind: 'voice-changer', reference: 'r', upstreamModel: 'm', sourcePath: '' } as const;
    const more = { sourceContentType: '', sourceDemuxer: '', sourceSeconds: 1, voice: '' };
    const order = { ...request, ...more, removeBackgroundNoise: false };
    const outcome = await caller.provider().start(order, await caller.context());
    expect(outcome).toMatchObject({ status: 'refused' });
  });

  it('is cancelled, and the answer to the cancellation is ignored', async () => {
    stub.steps = [{ status: 'IN_QUEUE' }];
    const provider = caller.provider();
    const started = await provider.start(music(), await caller.context());
    if (started.status !== 'running') throw new Error(started.status);
    const stop = async (handle = started.operation) => provider.cancel?.(handle, await caller.context());
    await stop();
    expect(orderOf(stub).cancelled).toBe(true);
    stub.faults.cancel = [{ kind: 'destroy' }, { kind: 'reply', status: 500 }];
    for (let times = 0; times < 3; times += 1) await stop();
    await stop({ nonsense: true });
  });

  it('is neither repeatable nor findable afterwards', () => {
    const provider = caller.provider();
    expect(provider.repeatable).toBe(false);
    expect(provider.find).toBeUndefined();
  });
});

const reply = (status: number, body?: unknown, headers: Record<string, string> = {}): FalFault => ({
  kind: 'reply',
  status,
  body,
  headers,
});
const fields = (...types: string[]) => ({
  detail: types.map((type) => ({ loc: ['body', 'prompt'], msg: `it is ${type}`, type, url: 'https://x' })),
});
const PAGE = '<html>\n<h1>gateway</h1></html>';

type Row = [what: string, stage: FalStage, fault: FalFault, wanted: object];

const refused = (reason: string, more: object = {}) => ({ status: 'refused', reason, ...more });
const UNKNOWN = { status: 'unknown' };
const overloaded = { status: 'busy', reason: 'overloaded' };

const SUBMIT: Row[] = [
  [
    'a limit with a pause',
    'submit',
    reply(429, {}, { 'retry-after': '3' }),
    { status: 'busy', reason: 'rate_limited', retryAfterMs: 3_000 },
  ],
  ['a limit without one', 'submit', reply(429, PAGE), { status: 'busy', reason: 'rate_limited' }],
  ['no room, in words', 'submit', reply(503, { detail: 'Service unavailable' }), overloaded],
  ['no room, with a pause', 'submit', reply(503, PAGE, { 'retry-after': '2' }), { ...overloaded, retryAfterMs: 2_000 }],
  ['a gateway’s page of 503', 'submit', reply(503, PAGE), UNKNOWN],
  ['a gateway’s page of 502', 'submit', reply(502, PAGE), UNKNOWN],
  ['a gateway’s page of 504', 'submit', reply(504, PAGE), UNKNOWN],
  [
    'a failure in words',
    'submit',
    reply(500, { detail: 'oops' }),
    refused('failed', { message: 'The media service failed.' }),
  ],
  [
    'a wrong key',
    'submit',
    reply(401, { detail: 'No user found for Key ID and Secret' }),
    refused('credential', { message: expect.not.stringMatching(/key/i) }),
  ],
  [
    'a locked account',
    'submit',
    reply(403, { detail: 'User is locked. Reason: Exhausted balance.' }),
    refused('credential', { message: expect.not.stringMatching(/balance/i) }),
  ],
  ['an empty account', 'submit', reply(402, PAGE), refused('credential')],
  ['an unknown model', 'submit', reply(404, { detail: "Application 'x' not found" }), refused('credential')],
  ['a page of 404', 'submit', reply(404, PAGE), refused('failed')],
  ['a redirect', 'submit', reply(302, PAGE, { location: 'https://elsewhere.example/' }), refused('failed')],
  [
    'wrong fields',
    'submit',
    reply(422, fields('missing', 'float_type')),
    refused('refused', {
      message: 'prompt: it is missing; prompt: it is float_type',
      detail: 'HTTP 422 missing float_type',
    }),
  ],
  [
    'one wrong field as an object',
    'submit',
    reply(400, { detail: { loc: ['body', 'image_url'], msg: 'too small', type: 'image_too_small' } }),
    refused('refused', { message: 'image_url: too small' }),
  ],
  [
    'a wrong order in plain words',
    'submit',
    reply(400, { detail: 'The prompt\nis\u0000 odd, see https://v3.fal.media/files/secret.png' }),
    refused('refused', { message: 'The prompt is odd, see (address)' }),
  ],
  [
    'endless words',
    'submit',
    reply(400, { detail: 'x'.repeat(100_000) }),
    refused('refused', { message: 'x'.repeat(300) }),
  ],
  [
    'the content policy',
    'submit',
    reply(422, fields('content_policy_violation')),
    refused('content_policy', { message: 'prompt: it is content_policy_violation' }),
  ],
  ['no answer at all', 'submit', { kind: 'destroy' }, UNKNOWN],
  ['silence', 'submit', { kind: 'hang' }, UNKNOWN],
  ['a cut answer', 'submit', { kind: 'cut', body: '{"request_id":' }, UNKNOWN],
  ['a page instead of an answer', 'submit', reply(200, PAGE), UNKNOWN],
  ['an answer without an id', 'submit', reply(200, { status: 'IN_QUEUE' }), UNKNOWN],
  ['an id that is a path', 'submit', reply(200, { request_id: '../../admin' }), UNKNOWN],
  ['two megabytes', 'submit', reply(200, 'x'.repeat(2_000_000)), UNKNOWN],
];

describe('submission of an order', () => {
  it.each(SUBMIT)('maps the answer %s', async (_what, stage, fault, wanted) => {
    stub.faults[stage] = [fault];
    expectOutcome(await caller.provider().start(video(), await caller.context()), wanted);
  });

  it('is certainly not accepted when nothing listens', async () => {
    const { baseUrl } = stub;
    await stub.close();
    expectOutcome(await caller.provider({ baseUrl }).start(music(), await caller.context()), overloaded);
  });

  it('reaches a host on a private network only if the operator allows it', async () => {
    const provider = caller.provider({ allowPrivateNetwork: false });
    expectOutcome(await provider.start(music(), await caller.context()), overloaded);
    expect(stub.calls).toEqual([]);
  });
});

const POLL: Row[] = [
  ['a limit', 'status', reply(429, {}, { 'retry-after': '5' }), { status: 'busy', retryAfterMs: 5_000 }],
  ['a gateway’s page', 'status', reply(502, PAGE), UNKNOWN],
  ['a page of success', 'status', reply(200, PAGE), UNKNOWN],
  ['truncated JSON', 'status', reply(200, '{"status":"COMPL'), UNKNOWN],
  ['a list', 'status', reply(200, []), UNKNOWN],
  ['the status of another order', 'status', reply(200, { status: 'COMPLETED', request_id: 'other' }), UNKNOWN],
  ['no such order', 'status', reply(404, { detail: 'Request not found' }), refused('failed')],
  ['a page that refuses', 'status', reply(403, PAGE), UNKNOWN],
  ['a page that is not there', 'result', reply(404, PAGE), UNKNOWN],
  ['a failure without a name', 'status', reply(500, { detail: 'Oh' }), UNKNOWN],
  ['a withdrawn key', 'status', reply(401, { detail: 'no' }), refused('credential')],
  ['no answer', 'status', { kind: 'destroy' }, UNKNOWN],
  ['silence', 'status', { kind: 'hang' }, UNKNOWN],
  ['an unknown state', 'status', reply(202, { status: 'REHEATING' }), { status: 'running' }],
  ['logs that are none', 'status', reply(202, { status: 'IN_PROGRESS', logs: 7 }), { status: 'running' }],
  [
    'a silly percentage',
    'status',
    reply(202, { status: 'IN_PROGRESS', logs: [{ message: '999%|#' }, 4] }),
    { status: 'running' },
  ],
  ['a result before its time', 'result', reply(400, { detail: 'Request is still in progress' }), UNKNOWN],
  ['a lost result', 'result', reply(404, { detail: 'Request not found' }), refused('failed')],
  ['a result that is not to be had now', 'result', reply(429, {}), { status: 'busy' }],
  ['a gateway’s page for the result', 'result', reply(504, PAGE), UNKNOWN],
  [
    'a model that ran too long',
    'result',
    reply(504, { detail: 'Request timed out', error_type: 'request_timeout' }),
    refused('failed', { detail: 'HTTP 504 request_timeout' }),
  ],
  [
    'a model without a runner',
    'result',
    reply(503, { detail: 'no', error_type: 'runner_scheduling_failure' }),
    refused('failed'),
  ],
  [
    'wrong fields',
    'result',
    reply(422, fields('literal_error')),
    refused('refused', { message: 'prompt: it is literal_error' }),
  ],
  ['the content policy', 'result', reply(422, fields('content_policy_violation')), refused('content_policy')],
  [
    'the content policy after a failure',
    'result',
    reply(500, fields('content_policy_violation')),
    refused('content_policy'),
  ],
  [
    'a service behind that failed',
    'result',
    reply(400, fields('downstream_service_error')),
    refused('failed', { message: 'The media service failed.' }),
  ],
  ['no media', 'result', reply(422, fields('no_media_generated')), refused('failed')],
  [
    'a cancelled order',
    'result',
    reply(400, { detail: 'Request cancelled', error_type: 'request_cancelled' }),
    refused('failed'),
  ],
  ['a result without a video', 'result', reply(200, { seed: 4 }), refused('failed')],
  ['a video that is no address', 'result', reply(200, { video: { url: 'video.mp4' } }), refused('failed')],
  ['a result that is a page', 'result', reply(200, PAGE), refused('failed')],
  [
    'an output on this machine',
    'result',
    reply(200, { video: { url: 'http://127.0.0.1:1/v.mp4' } }),
    refused('failed'),
  ],
  [
    'an output on a private network',
    'result',
    reply(200, { video: { url: 'https://10.0.0.8/v.mp4' } }),
    refused('failed'),
  ],
  ['an output in a file', 'result', reply(200, { video: { url: 'file:///etc/passwd' } }), refused('failed')],
  ['an output that is gone', 'output', reply(404, PAGE), refused('failed')],
  ['an output that is not to be had now', 'output', reply(503, PAGE), UNKNOWN],
  ['an output that is cut', 'output', { kind: 'cut', body: 'half' }, UNKNOWN],
  [
    'an output that is a page',
    'output',
    reply(200, PAGE),
    refused('failed', { detail: expect.stringContaining('not video, declared as text/html') }),
  ],
  ['an empty output', 'output', reply(200, ''), refused('failed')],
  ['an output of the other kind', 'output', reply(200, STUB_AUDIO), refused('failed')],
  [
    'half a video',
    'output',
    reply(200, STUB_VIDEO.subarray(0, 300)),
    refused('failed', { detail: expect.stringContaining('cut off') }),
  ],
  ['sound in a video’s container', 'output', reply(200, smallMp4('M4A ')), refused('failed')],
];

describe('polling of an order', () => {
  it.each(POLL)('maps the answer %s', async (_what, stage, fault, wanted) => {
    const provider = caller.provider();
    const started = await provider.start(video(), await caller.context());
    if (started.status !== 'running') throw new Error(started.status);
    stub.faults[stage] = [fault];
    expectOutcome(await checked(provider, started.operation, await caller.context()), wanted);
  });

  it('accepts a status that goes back', async () => {
    stub.steps = [{ status: 'IN_PROGRESS', logs: ['90%|#########'] }, { status: 'IN_QUEUE' }];
    expect((await caller.run(video())).status).toBe('done');
  });

  it('polls without logs when there are too many', async () => {
    stub.steps = [{ status: 'IN_PROGRESS', logs: ['x'.repeat(1_100_000)] }, { status: 'IN_PROGRESS' }];
    expect((await caller.run(video())).status).toBe('done');
  });

  it.each([
    {},
    { endpoint: VIDEO },
    { endpoint: '../x', requestId: 'a', kind: 'video' },
    { endpoint: VIDEO, requestId: 'a/b', kind: 'video' },
  ])('sends no request for the handle %j', async (handle) => {
    const outcome = await checked(caller.provider(), handle as never, await caller.context());
    expect(outcome).toMatchObject({ status: 'refused', reason: 'failed' });
    expect(stub.calls).toEqual([]);
  });

  it('finds the output under each field name that models use', async () => {
    const url = `${stub.baseUrl}/outputs/x.mp3`;
    const shapes = [
      { audio: { url } },
      { audio_file: { url } },
      { audio: url },
      { audio_url: url },
      { audios: [{ url }] },
    ];
    for (const body of shapes) {
      stub.result = { status: 200, body };
      expect((await caller.run(music())).status).toBe('done');
    }
  });

  it('sends the credential to the service only', async () => {
    await caller.run(music());
    expect(new Set(stub.calls.map(({ authorization }) => authorization))).toEqual(new Set([`Key ${stub.apiKey}`]));
  });
});
