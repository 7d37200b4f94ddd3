import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { MediaCallContext } from '../../../providers/shared/mediaProvider.ts';
import { greyPng } from '../../engines/media/pictureFiles.ts';
import { until } from '../../harness/until.ts';
import { testWav } from '../../stubs/elevenlabsAudio.ts';
import { type ReplicateStub, type StubFault, startReplicateStub } from '../../stubs/replicate/replicate.ts';
import { LONG_TIMEOUTS, SHORT_TIMEOUTS } from '../../stubs/timeouts.ts';
import {
  createMediaCaller,
  cutout,
  edit,
  enlargement,
  type MediaCaller,
  PRIVATE_WORDS,
  picture,
  speech,
  transcription,
} from '../mediaOrders.ts';
import { type ReplicateMedia, replicateMedia } from './callReplicateMedia.ts';

let helper: MediaCaller;
beforeAll(async () => {
  helper = await createMediaCaller('replicate');
});
afterAll(() => helper.close());

const PNG = greyPng({ width: 8, height: 8 });

interface Operation {
  operate: (media: ReplicateMedia, context: MediaCallContext) => Promise<unknown>;
  /** Content of the output file; undefined if the output is not a file. */
  file?: Buffer;
}

const OPERATIONS: Record<string, Operation> = {
  makeImages: {
    operate: (media, context) =>
      media.makeImages(picture({ upstreamModel: 'black-forest-labs/flux-schnell' }), context),
    file: PNG,
  },
  editImage: {
    operate: async (media, context) =>
      media.editImage(edit({ upstreamModel: 'google/nano-banana-pro', images: [await helper.image()] }), context),
    file: PNG,
  },
  cutOut: {
    operate: async (media, context) =>
      media.cutOut(cutout('851-labs/background-remover', await helper.image()), context),
    file: PNG,
  },
  enlarge: {
    operate: async (media, context) =>
      media.enlarge(enlargement({ upstreamModel: 'nightmareai/real-esrgan', image: await helper.image() }), context),
    file: PNG,
  },
  transcribe: {
    operate: async (media, context) =>
      media.transcribe(
        transcription({ upstreamModel: 'openai/whisper', recording: await helper.recording() }),
        context,
      ),
  },
  speak: {
    operate: (media, context) => media.speak(speech({ upstreamModel: 'resemble-ai/chatterbox' }), context),
    file: testWav(1),
  },
};

interface Row {
  when: string;
  /** Applied to a stub that is set up to succeed. */
  plan: (stub: ReplicateStub) => void;
  /** Undefined: the call succeeds. */
  reason?: string;
  more?: object;
  /** Orders that the service accepted; default 1. */
  orders?: number;
  signal?: (stub: ReplicateStub) => AbortSignal;
  cancelled?: true;
  fetches?: true;
}

const ORDER = 'POST /v1/models/';
const QUESTION = 'GET /v1/predictions/';
const html = '<html>Bad gateway</html>';
const problem = { title: 'Something', detail: `about ${PRIVATE_WORDS}`, status: 500 };

const strikes =
  (at: string, fault: StubFault, count = 1) =>
  (stub: ReplicateStub) => {
    stub.faults.push(...Array.from({ length: count }, () => ({ at, fault })));
  };
const answers = (at: string, status: number, body: unknown, headers: Record<string, string> = {}) =>
  strikes(at, { kind: 'reply', status, body, headers });
const ended = (moment: ReplicateStub['moments'][number]) => (stub: ReplicateStub) => {
  stub.moments = [{ status: 'starting' }, moment];
};
/** Still running when the creation is answered, however long the answer was delayed. */
const running = (then: (stub: ReplicateStub) => void) => (stub: ReplicateStub) => {
  stub.moments = [{ status: 'starting' }];
  then(stub);
};
const delivered = (change: object) => (stub: ReplicateStub) => {
  for (const [at, output] of stub.outputs) stub.outputs.set(at, { ...output, ...change });
};
/** Aborted with this reason once the order has been asked about so often. */
const leftAfter = (questions: number, reason?: Error) => (stub: ReplicateStub) => {
  const controller = new AbortController();
  const asked = () => stub.requests.filter((request) => request.startsWith(QUESTION)).length >= questions;
  void until('the order is asked about', asked).finally(() => controller.abort(reason));
  return controller.signal;
};

const ROWS: Row[] = [
  { when: 'all is well', plan: () => undefined },
  {
    when: 'the token is wrong',
    plan: (stub) => Object.assign(stub, { apiKey: 'another' }),
    reason: 'credential',
    orders: 0,
  },
  {
    when: 'the account is empty',
    plan: (stub) => Object.assign(stub, { insufficientCredit: true }),
    reason: 'credential',
    orders: 0,
  },
  {
    when: 'the service is asked too much',
    plan: (stub) => Object.assign(stub, { throttled: 1 }),
    reason: 'rate_limited',
    more: { retryAfterMs: 30_000 },
    orders: 0,
  },
  { when: 'the service is overloaded', plan: answers(ORDER, 503, problem), reason: 'overloaded', orders: 0 },
  { when: 'the service breaks', plan: answers(ORDER, 500, problem), reason: 'failed', orders: 0 },
  { when: 'a gateway answers', plan: answers(ORDER, 502, html), reason: 'lost', orders: 0 },
  {
    when: 'the answer to the order is no answer',
    plan: answers(ORDER, 201, html),
    reason: 'lost',
    orders: 0,
  },
  { when: 'the answer to the order is lost', plan: strikes(ORDER, { kind: 'lost' }), reason: 'lost' },
  { when: 'the order is never answered', plan: strikes(ORDER, { kind: 'hang' }), reason: 'timeout' },
  {
    when: 'the input is refused',
    plan: answers(ORDER, 422, {
      title: 'Input validation failed',
      detail: 'x',
      invalid_fields: [{ field: 'input.seed', description: 'Must be less' }],
    }),
    reason: 'refused',
    more: { words: expect.stringContaining('Must be less') },
    orders: 0,
  },
  {
    when: 'the content is refused',
    plan: ended({ status: 'failed', error: `NSFW content detected in ${PRIVATE_WORDS}` }),
    reason: 'content_policy',
  },
  {
    when: 'the content is refused by its number',
    plan: ended({ status: 'failed', error: 'The input or output was flagged as sensitive. (E005)' }),
    reason: 'content_policy',
  },
  {
    when: 'the model breaks',
    plan: ended({ status: 'failed', error: 'CUDA out of memory' }),
    reason: 'failed',
  },
  { when: 'somebody cancelled it there', plan: ended({ status: 'canceled' }), reason: 'failed' },
  { when: 'the output is empty', plan: ended({ status: 'succeeded', output: null }), reason: 'garbage' },
  {
    when: 'the output is of another shape',
    plan: ended({ status: 'succeeded', output: 7 }),
    reason: 'garbage',
  },
  {
    when: 'it is not done at the deadline',
    plan: running(() => undefined),
    signal: leftAfter(1, new DOMException('late', 'TimeoutError')),
    reason: 'timeout',
    cancelled: true,
  },
  {
    when: 'nobody waits any more',
    plan: running(() => undefined),
    signal: leftAfter(1),
    reason: 'lost',
    cancelled: true,
  },
  {
    when: 'no question is answered any more',
    plan: running(strikes(QUESTION, { kind: 'lost' }, 20)),
    signal: leftAfter(2, new DOMException('late', 'TimeoutError')),
    reason: 'timeout',
    cancelled: true,
  },
  {
    when: 'the service has forgotten the order',
    plan: running(answers(QUESTION, 404, { title: 'Not found', detail: 'x' })),
    reason: 'failed',
  },
  {
    when: 'the output is on a private network',
    plan: ended({ status: 'succeeded', output: ['http://10.0.0.7/output.png'] }),
    fetches: true,
    reason: 'garbage',
  },
  {
    when: 'the output is a page',
    plan: delivered({ body: Buffer.from(html) }),
    fetches: true,
    reason: 'garbage',
  },
  {
    when: 'the output is empty',
    plan: delivered({ body: Buffer.alloc(0) }),
    fetches: true,
    reason: 'garbage',
  },
  {
    when: 'the output is too large',
    plan: delivered({ announcedBytes: 999_999_999 }),
    fetches: true,
    reason: 'garbage',
  },
  {
    when: 'the output is cut at every try',
    plan: delivered({ announcedBytes: 100_000, cut: true }),
    fetches: true,
    reason: 'lost',
  },
  { when: 'the output is gone', plan: (stub) => stub.outputs.clear(), fetches: true, reason: 'lost' },
];

async function run(row: Row, { operate, file }: Operation): Promise<void> {
  const stub = await startReplicateStub();
  try {
    const secret = stub.apiKey;
    if (file) stub.outputs.set('/out', { contentType: 'application/octet-stream', body: file });
    const output = file ? `${stub.deliveryUrl}/out` : { transcription: 'hello', segments: [] };
    stub.moments = [{ status: 'starting' }, { status: 'succeeded', output }];
    row.plan(stub);
    const isSilent = stub.faults.some(({ fault }) => fault.kind === 'hang');
    const media = replicateMedia({ ...stub, apiKey: secret }, isSilent ? SHORT_TIMEOUTS : LONG_TIMEOUTS);
    const ended = await operate(media, await helper.context(row.signal?.(stub))).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (row.reason === undefined) expect(ended).toBeUndefined();
    else expect(ended).toMatchObject({ name: 'UpstreamFailure', reason: row.reason, ...row.more });
    const detail = ended instanceof Error ? ended.message : '';
    for (const word of [PRIVATE_WORDS, secret, stub.baseUrl]) expect(detail).not.toContain(word);
    expect(stub.predictions).toHaveLength(row.orders ?? 1);
    const cancelled = () => stub.requests.some((request) => request.endsWith('/cancel'));
    if (row.cancelled) await vi.waitFor(() => expect(cancelled()).toBe(true), { timeout: 180_000 });
    else expect(cancelled()).toBe(false);
  } finally {
    await stub.close();
  }
}

/** Runs every row for the first operations, and a sample for the others, which share the code. */
const isWhole = process.env.FAREBOX_TEST_LONG === '1';
const WHOLE = ['makeImages', 'transcribe'];

describe.each(Object.entries(OPERATIONS))('%s', (name, operation) => {
  const own = ROWS.filter(({ fetches }) => !fetches || operation.file !== undefined);
  const rows = isWhole || WHOLE.includes(name) ? own : own.filter((_, index) => index % 3 === 0);
  it.concurrent.each(rows)('when $when: $reason', async (row) => {
    await run(row, operation);
  });
});

it('cancels an order that was aborted during its submission as soon as its id is known', async () => {
  const stub = await startReplicateStub();
  try {
    stub.moments = [{ status: 'starting' }];
    const controller = new AbortController();
    const order = picture({ upstreamModel: 'black-forest-labs/flux-schnell' });
    const work = replicateMedia(stub).makeImages(order, await helper.context(controller.signal));
    controller.abort();
    await expect(work).rejects.toMatchObject({ reason: 'lost' });
    await vi.waitFor(() => expect(stub.predictions[0]).toBeDefined(), { timeout: 180_000 });
    const { id } = stub.predictions[0] ?? { id: '' };
    await vi.waitFor(() => expect(stub.requests).toContain(`POST /v1/predictions/${id}/cancel`), {
      timeout: 180_000,
    });
  } finally {
    await stub.close();
  }
});
