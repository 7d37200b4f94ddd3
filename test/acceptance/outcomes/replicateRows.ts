/** Outcomes of a job by the behaviour of Replicate, whose outputs are on a separate host. */
import {
  type Moment,
  type ReplicateStub,
  type StubFault,
  startReplicateStub,
} from '../../stubs/replicate/replicate.ts';
import { FILM, FILMED, GARBAGE, PAGE, SONG, STORED } from './media.ts';
import {
  always,
  type Ending,
  failed,
  LOST,
  OFFLINE,
  type OutcomeRow,
  type RowOptions,
  type RowService,
  refusedFilm,
  refusedPrompt,
  TIMED_OUT,
  wrong,
} from './row.ts';
import { TIMEOUTS } from './timing.ts';

const MODELS = { audio: 'stability-ai/stable-audio-2.5', video: 'wan-video/wan-2.5-t2v' };
const SUBMIT = 'POST /v1/models';
const POLL = 'GET /v1/predictions/';

interface ReplicatePlan extends RowOptions {
  does?(stub: ReplicateStub): void;
  faults?: { at: string; fault: StubFault }[];
}

function replicate(when: string, end: Ending, plan: ReplicatePlan = {}): OutcomeRow {
  const { kind = 'audio', prompt = 'calm rain, far away', accepted = 1, mostAsked = 1 } = plan;
  const start = () => startRow(plan, kind);
  return { when, service: 'replicate', kind, prompt, start, end, accepted, mostAsked };
}

function seldom(...given: Parameters<typeof replicate>): OutcomeRow {
  return { ...replicate(...given), seldom: true };
}

async function startRow(plan: ReplicatePlan, kind: 'audio' | 'video'): Promise<RowService> {
  const stub = await startReplicateStub();
  const file = kind === 'audio' ? { contentType: 'audio/mpeg', body: SONG } : { contentType: '', body: FILM };
  stub.outputs.set('/out/file', file);
  stub.moments = [{ status: 'starting' }, { status: 'succeeded', output: `${stub.deliveryUrl}/out/file` }];
  stub.faults.push(...(plan.faults ?? []));
  plan.does?.(stub);
  return {
    entry: {
      kind: 'replicate',
      baseUrl: stub.baseUrl,
      apiKeyEnv: 'OUTCOMES_REPLICATE_KEY',
      allowPrivateNetwork: true,
      timeouts: TIMEOUTS,
    },
    upstreamModel: MODELS[kind],
    allowedHost: new URL(stub.deliveryUrl).host,
    accepted: () => stub.predictions.length,
    asked: () => stub.requests.filter((what) => what.startsWith(SUBMIT)).length,
    close: () => stub.close(),
  };
}

const reply = (status: number, body: unknown, headers: Record<string, string> = {}): StubFault => ({
  kind: 'reply',
  ...{ status, body, headers },
});
const once = (at: string, fault: StubFault): ReplicatePlan => ({ faults: [{ at, fault }] });
const times = (count: number, at: string, fault: StubFault): ReplicatePlan => ({
  faults: always({ at, fault }).slice(0, count),
});
const moments = (...all: Moment[]): ReplicatePlan => ({
  does(stub) {
    const last = stub.moments.at(-1);
    stub.moments = [{ status: 'starting' }, ...all, ...(last ? [last] : [])];
  },
});
const ends = (moment: Moment): ReplicatePlan => ({
  does(stub) {
    stub.moments = [{ status: 'starting' }, moment];
  },
});
const succeeds = (outputOf: (url: string) => unknown): ReplicatePlan => ({
  does(stub) {
    const output = outputOf(`${stub.deliveryUrl}/out/file`);
    stub.moments = [{ status: 'starting' }, { status: 'succeeded', output }];
  },
});

const FAILED = failed('The provider failed.');
const NOT_FETCHED = failed('The provider did not deliver a usable output.');
const NOT_TAKEN = { accepted: 0 } as const;
const FLAGGED = 'The input was flagged as sensitive. (E005)';
const MAX_BYTES = 200_000_000;

export const REPLICATE_ROWS: readonly OutcomeRow[] = [
  replicate('makes a recording', STORED),
  replicate('makes a film', FILMED, { kind: 'video' }),
  replicate('is done at once', STORED, {
    does(stub) {
      stub.moments = [{ status: 'succeeded', output: `${stub.deliveryUrl}/out/file` }];
    },
  }),
  replicate('does not accept our token', OFFLINE, {
    ...once(SUBMIT, reply(401, { title: 'Unauthenticated' })),
    ...NOT_TAKEN,
  }),
  replicate('has no credit of ours left', OFFLINE, {
    ...NOT_TAKEN,
    does(stub) {
      stub.insufficientCredit = true;
    },
  }),
  seldom('does not know the model', OFFLINE, {
    ...once(SUBMIT, reply(404, { title: 'Not found', detail: 'No such model' })),
    ...NOT_TAKEN,
  }),
  replicate('finds a field wrong', wrong('input.prompt: Too short'), {
    ...once(
      SUBMIT,
      reply(422, {
        title: 'Input validation failed',
        invalid_fields: [{ field: 'input.prompt', description: 'Too short' }],
      }),
    ),
    ...NOT_TAKEN,
  }),
  replicate('throttles once and says for how long', STORED, {
    ...once(SUBMIT, reply(429, { detail: 'Request was throttled. Expected available in 1 second.' })),
    mostAsked: 2,
  }),
  seldom('fails', FAILED, { ...once(SUBMIT, reply(500, { title: 'Oh' })), ...NOT_TAKEN }),
  seldom('stands behind a gateway that fails', LOST, {
    ...once(SUBMIT, reply(502, PAGE)),
    ...NOT_TAKEN,
  }),
  replicate('loses its answer', LOST, once(SUBMIT, { kind: 'lost' })),
  seldom('takes the order in silence', LOST, once(SUBMIT, { kind: 'hang' })),
  seldom('answers a page', LOST, { ...once(SUBMIT, reply(201, PAGE)), ...NOT_TAKEN }),
  seldom('answers an id that is a path', LOST, {
    ...once(SUBMIT, reply(201, { id: '../x', status: 'starting' })),
    ...NOT_TAKEN,
  }),
  seldom('names a status that nobody knows', STORED, moments({ status: 'pondering' })),
  replicate('goes back to a status before', STORED, {
    ...moments({ status: 'processing', logs: '90%|###' }, { status: 'starting' }, { status: 'processing' }),
  }),
  seldom('says percentages that are none', STORED, {
    ...moments({ status: 'processing', logs: '400%|#' }, { status: 'processing', logs: '-7%| NaN%|' }),
  }),
  replicate('fails three times when it is asked', STORED, times(3, POLL, reply(500, { title: 'Oh' }))),
  seldom('stands behind a page that is not there, once', STORED, once(POLL, reply(404, PAGE))),
  seldom('forgets the order', FAILED, once(POLL, reply(404, { title: 'Not found', detail: 'Gone' }))),
  seldom('answers questions with garbage twice', STORED, times(2, POLL, reply(200, GARBAGE))),
  seldom('is silent once', STORED, once(POLL, { kind: 'hang' })),
  seldom('loses an answer to a question', STORED, once(POLL, { kind: 'lost' })),
  seldom('answers about another order once', STORED, {
    ...once(POLL, reply(200, { id: 'another', status: 'failed', error: 'Oh' })),
  }),
  seldom('works for ever', TIMED_OUT, ends({ status: 'processing' })),
  replicate('fails with words of its own', FAILED, ends({ status: 'failed', error: 'CUDA out of memory' })),
  replicate('refuses a prompt for its content', refusedPrompt(FLAGGED), ends({ status: 'failed', error: FLAGGED })),
  replicate('refuses a film for its content', refusedFilm(FLAGGED), {
    ...ends({ status: 'failed', error: FLAGGED }),
    kind: 'video',
  }),
  replicate('cancelled the order', FAILED, ends({ status: 'canceled' })),
  seldom('gave the order up before it began', FAILED, ends({ status: 'aborted' })),
  seldom('is done without an output', FAILED, ends({ status: 'succeeded' })),
  seldom('is done with an empty list', FAILED, ends({ status: 'succeeded', output: [] })),
  replicate('removed the output', FAILED, ends({ status: 'succeeded', data_removed: true })),
  replicate(
    'is done with two outputs',
    STORED,
    succeeds((url) => [url, `${url}/other`]),
  ),
  replicate(
    'names an output on a private network',
    NOT_FETCHED,
    succeeds(() => 'http://10.0.0.8/a.mp3'),
  ),
  replicate(
    'has no output where it said',
    TIMED_OUT,
    succeeds((url) => `${url}/gone.mp3`),
  ),
  seldom('delivers a page', FAILED, {
    does: (stub) => void stub.outputs.set('/out/file', { contentType: 'audio/mpeg', body: Buffer.from(PAGE) }),
  }),
  seldom('delivers nothing', FAILED, {
    does: (stub) => void stub.outputs.set('/out/file', { contentType: 'audio/mpeg', body: Buffer.alloc(0) }),
  }),
  replicate('announces more than a recording can have', NOT_FETCHED, {
    does(stub) {
      const file = { contentType: 'audio/mpeg', body: SONG, announcedBytes: MAX_BYTES + 1 };
      stub.outputs.set('/out/file', file);
    },
  }),
  seldom('breaks off every delivery', TIMED_OUT, {
    does(stub) {
      const file = { contentType: 'audio/mpeg', body: SONG, announcedBytes: SONG.length * 2, cut: true };
      stub.outputs.set('/out/file', file);
    },
  }),
];
