import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { MediaCallContext, MediaProvider } from '../../../providers/shared/mediaProvider.ts';
import { until } from '../../harness/until.ts';
import { type FalStub, startFalStub } from '../../stubs/fal/fal.ts';
import { LONG_TIMEOUTS, SHORT_TIMEOUTS } from '../../stubs/timeouts.ts';
import {
  createMediaCaller,
  cutout,
  edit,
  enlargement,
  type MediaCaller,
  PRIVATE_WORDS,
  picture,
  sample,
  speech,
  transcription,
} from '../mediaOrders.ts';
import { falMedia } from './callFalMedia.ts';

let helper: MediaCaller;
beforeAll(async () => {
  helper = await createMediaCaller('fal');
});
afterAll(() => helper.close());

type Operate = (provider: Required<MediaProvider>, context: MediaCallContext) => Promise<unknown>;

const OPERATIONS: Record<string, { operate: Operate; stores?: true; fetches?: true }> = {
  makeImages: {
    operate: (provider, context) => provider.makeImages(picture({ upstreamModel: 'fal-ai/z-image/turbo' }), context),
    fetches: true,
  },
  editImage: {
    operate: async (provider, context) =>
      provider.editImage(edit({ upstreamModel: 'fal-ai/flux-2-max/edit', images: [await helper.image()] }), context),
    stores: true,
    fetches: true,
  },
  cutOut: {
    operate: async (provider, context) => provider.cutOut(cutout('fal-ai/birefnet', await helper.image()), context),
    stores: true,
    fetches: true,
  },
  enlarge: {
    operate: async (provider, context) =>
      provider.enlarge(enlargement({ upstreamModel: 'fal-ai/clarity-upscaler', image: await helper.image() }), context),
    stores: true,
    fetches: true,
  },
  transcribe: {
    operate: async (provider, context) =>
      provider.transcribe(
        transcription({ upstreamModel: 'fal-ai/wizper', recording: await helper.recording() }),
        context,
      ),
    stores: true,
  },
  speak: {
    operate: (provider, context) => provider.speak(speech({ upstreamModel: 'fal-ai/orpheus-tts' }), context),
    fetches: true,
  },
  cloneVoice: {
    operate: async (provider, context) =>
      provider.cloneVoice(sample('fal-ai/minimax/speech-02-hd', await helper.recording()), context),
    stores: true,
  },
};

interface Row {
  when: string;
  plan: (stub: FalStub) => void;
  /** Undefined: the call succeeds. */
  reason?: string;
  more?: object;
  /** Orders that the service accepted; default 1. */
  orders?: number;
  apiKey?: string;
  signal?: (stub: FalStub) => AbortSignal;
  cancelled?: true;
  only?: 'stores' | 'fetches';
}

const reply = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  ({ kind: 'reply', status, body, headers }) as const;
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
/** Creates the change per stub, because a stub consumes its lists. */
const set = (change: Partial<FalStub>) => (stub: FalStub) => {
  Object.assign(stub, structuredClone(change));
};
const strikes = (faults: FalStub['faults']) => set({ faults });
const endless = (stub: FalStub) => {
  stub.steps = times(1_000, { status: 'IN_PROGRESS' });
};
const result =
  (body: unknown, status = 200) =>
  (stub: FalStub) => {
    stub.result = { status, body };
  };
/** Aborted with this reason once the order has been asked about so often. */
const leftAfter = (questions: number, reason?: Error) => (stub: FalStub) => {
  const controller = new AbortController();
  const asked = () => stub.calls.filter(({ path }) => path.endsWith('/status')).length >= questions;
  void until('the order is asked about', asked).finally(() => controller.abort(reason));
  return controller.signal;
};
const outputAt = (url: string) => result({ images: [{ url }], image: { url }, audio: { url } });
const policy = {
  detail: [{ loc: ['body', 'prompt'], msg: `flagged: ${PRIVATE_WORDS}`, type: 'content_policy_violation' }],
};
const wrong = { detail: [{ loc: ['body', 'seed'], msg: 'Input should be less', type: 'less_than' }] };
const html = '<html>Bad gateway</html>';

const ROWS: Row[] = [
  { when: 'it is done after a while', plan: set({ steps: [{ status: 'IN_QUEUE' }] }) },
  { when: 'the key is wrong', plan: () => undefined, apiKey: 'wrong', reason: 'credential', orders: 0 },
  {
    when: 'the account is empty',
    plan: set({ locked: true }),
    reason: 'credential',
    orders: 0,
  },
  {
    when: 'the service is asked too much',
    plan: strikes({ submit: [reply(429, { detail: 'Too many' }, { 'retry-after': '7' })] }),
    reason: 'rate_limited',
    more: { retryAfterMs: 7_000 },
    orders: 0,
  },
  {
    when: 'the service is overloaded',
    plan: strikes({ submit: [reply(503, { detail: 'busy' })] }),
    reason: 'overloaded',
    orders: 0,
  },
  {
    when: 'the service breaks',
    plan: strikes({ submit: [reply(500, { detail: 'x', error_type: 'internal_error' })] }),
    reason: 'failed',
    orders: 0,
  },
  {
    when: 'a gateway answers',
    plan: strikes({ submit: [reply(502, html)] }),
    reason: 'lost',
    orders: 0,
  },
  {
    when: 'the answer to the order is no answer',
    plan: strikes({ submit: [reply(200, html)] }),
    reason: 'lost',
    orders: 0,
  },
  {
    when: 'the answer to the order is lost',
    plan: strikes({ submit: [{ kind: 'destroy' }] }),
    reason: 'lost',
  },
  {
    when: 'the order is never answered',
    plan: strikes({ submit: [{ kind: 'hang' }] }),
    reason: 'timeout',
  },
  {
    when: 'the input is refused',
    plan: result(wrong, 422),
    reason: 'refused',
    more: { words: expect.stringContaining('seed') },
  },
  { when: 'the content is refused', plan: result(policy, 422), reason: 'content_policy' },
  {
    when: 'the model breaks',
    plan: result({ detail: 'x', error_type: 'generation_timeout' }, 504),
    reason: 'failed',
  },
  { when: 'the result is empty', plan: result({}), reason: 'garbage' },
  { when: 'the result is of another shape', plan: result([1, { images: 'none' }]), reason: 'garbage' },
  {
    when: 'the result is no JSON',
    plan: strikes({ result: [reply(200, html)] }),
    reason: 'garbage',
  },
  {
    when: 'some questions are not answered',
    plan: strikes({
      status: [reply(502, html), { kind: 'destroy' }, reply(200, html)],
      result: [{ kind: 'reset' }],
    }),
  },
  {
    when: 'no question is answered any more',
    plan: strikes({ status: times(50, { kind: 'destroy' } as const) }),
    signal: leftAfter(2, new DOMException('late', 'TimeoutError')),
    reason: 'timeout',
    cancelled: true,
  },
  {
    when: 'the service has forgotten the order',
    plan: strikes({ status: [reply(404, { detail: 'Request not found' })] }),
    reason: 'failed',
  },
  {
    when: 'it is not done at the deadline',
    plan: endless,
    signal: leftAfter(1, new DOMException('late', 'TimeoutError')),
    reason: 'timeout',
    cancelled: true,
  },
  {
    when: 'nobody waits any more',
    plan: endless,
    signal: leftAfter(1),
    reason: 'lost',
    cancelled: true,
  },
  {
    when: 'the storage breaks',
    plan: strikes({ initiate: [reply(500, { detail: 'x' })] }),
    only: 'stores',
    reason: 'overloaded',
    orders: 0,
  },
  {
    when: 'the upload is cut',
    plan: strikes({ put: [{ kind: 'destroy' }] }),
    only: 'stores',
    reason: 'lost',
    orders: 0,
  },
  {
    when: 'the output is on a private network',
    plan: outputAt('http://10.0.0.7/output.png'),
    only: 'fetches',
    reason: 'garbage',
  },
  {
    when: 'the output is in no place',
    plan: outputAt('file:///etc/passwd'),
    only: 'fetches',
    reason: 'garbage',
  },
  {
    when: 'the output is a page',
    plan: set({ output: Buffer.from(html) }),
    only: 'fetches',
    reason: 'garbage',
  },
  {
    when: 'the output is empty',
    plan: set({ output: Buffer.alloc(0) }),
    only: 'fetches',
    reason: 'garbage',
  },
  {
    when: 'the output is gone',
    plan: strikes({ output: [reply(404, 'gone')] }),
    only: 'fetches',
    reason: 'garbage',
  },
  {
    when: 'the output is too large',
    plan: strikes({ output: [reply(200, 'x', { 'content-length': '999999999' })] }),
    only: 'fetches',
    reason: 'garbage',
  },
  {
    when: 'the output comes at the second try',
    plan: strikes({ output: [{ kind: 'destroy' }] }),
    only: 'fetches',
  },
  {
    when: 'the output is cut at every try',
    plan: strikes({ output: times(5, { kind: 'cut', body: 'half' } as const) }),
    only: 'fetches',
    reason: 'lost',
  },
];

async function run(row: Row, operate: Operate): Promise<void> {
  const stub = await startFalStub();
  try {
    row.plan(stub);
    const timeouts = stub.faults.submit?.[0]?.kind === 'hang' ? SHORT_TIMEOUTS : LONG_TIMEOUTS;
    const provider = falMedia({ baseUrl: stub.baseUrl, apiKey: row.apiKey ?? stub.apiKey, timeouts });
    const context = await helper.context(row.signal?.(stub));
    const ended = await operate(provider, context).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (row.reason === undefined) expect(ended).toBeUndefined();
    else expect(ended).toMatchObject({ name: 'UpstreamFailure', reason: row.reason, ...row.more });
    const detail = ended instanceof Error ? ended.message : '';
    for (const secret of [PRIVATE_WORDS, stub.apiKey, stub.baseUrl]) expect(detail).not.toContain(secret);
    expect(stub.orders).toHaveLength(row.orders ?? 1);
    const asked = () => stub.calls.some(({ path }) => path.endsWith('/cancel'));
    if (row.cancelled) await vi.waitFor(() => expect(asked()).toBe(true), { timeout: 180_000 });
    else expect(asked()).toBe(false);
  } finally {
    await stub.close();
  }
}

/** Runs every row for the first operation concerned, and a sample for the others, which share the code. */
const isWhole = process.env.FAREBOX_TEST_LONG === '1';
const WHOLE = ['makeImages', 'editImage'];

describe.each(Object.entries(OPERATIONS))('%s', (name, { operate, ...is }) => {
  const own = ROWS.filter(({ only }) => only === undefined || is[only]);
  const rows = isWhole || WHOLE.includes(name) ? own : own.filter((_, index) => index % 3 === 0);
  it.concurrent.each(rows)('when $when: $reason', async (row) => {
    await run(row, operate);
  });
});

it('cancels an order that was aborted during its submission as soon as its id is known', async () => {
  const stub = await startFalStub();
  try {
    endless(stub);
    const controller = new AbortController();
    const order = picture({ upstreamModel: 'fal-ai/z-image/turbo', count: 2 });
    const work = falMedia(stub).makeImages(order, await helper.context(controller.signal));
    controller.abort();
    await expect(work).rejects.toMatchObject({ reason: 'lost' });
    await vi.waitFor(() => expect(stub.orders[0]?.cancelled).toBe(true), { timeout: 180_000 });
  } finally {
    await stub.close();
  }
});

it('ends the other orders when one of several fails', async () => {
  const stub = await startFalStub();
  try {
    endless(stub);
    const context = await helper.context();
    const work = falMedia(stub).makeImages(picture({ upstreamModel: 'fal-ai/flux-2-pro', count: 3 }), context);
    await vi.waitFor(() => expect(stub.orders).toHaveLength(3), { timeout: 180_000 });
    stub.faults.status = [reply(404, { detail: 'Request not found' })];
    await expect(work).rejects.toMatchObject({ reason: 'failed' });
    await vi.waitFor(() => expect(stub.orders.filter(({ cancelled }) => cancelled)).toHaveLength(2), {
      timeout: 180_000,
    });
  } finally {
    await stub.close();
  }
});
