/** What an order and a prediction come to, whatever the service answers. */
import { expect } from 'vitest';
import { silentMp3 } from '../../stubs/elevenlabsAudio.ts';
import type { Moment, ReplicateStub } from '../../stubs/replicate/replicate.ts';
import { type Caller, film, MP4, song } from './callReplicate.ts';

/** A prediction that has succeeded, with an output at the delivery host. */
export function succeeded(
  output: (at: string) => unknown,
  { body, contentType = 'application/octet-stream', name = '/out/file' }: Delivered,
) {
  return (stub: ReplicateStub) => {
    stub.outputs.set(name, { contentType, body });
    const last = { status: 'succeeded', output: output(`${stub.deliveryUrl}${name}`) };
    stub.moments = [{ status: 'starting' }, last];
  };
}

interface Delivered {
  body: Buffer;
  contentType?: string;
  name?: string;
}

export const mp3 = silentMp3(1);
const ended = (moment: Moment) => (stub: ReplicateStub) => {
  stub.moments = [{ status: 'starting' }, moment];
};
const answers =
  (at: string, status: number, body: unknown, headers: Record<string, string> = {}) =>
  (stub: ReplicateStub) => {
    stub.faults.push({ at, fault: { kind: 'reply', status, body, headers } });
  };
export const SUBMIT = 'POST /v1/models';
const POLL = 'GET /v1/predictions/';

export interface Row {
  when: string;
  plan: (stub: ReplicateStub) => void;
  order?: () => Parameters<Caller['start']>[0];
  outcome: Record<string, unknown>;
}

const words = { title: 'Something', detail: 'went wrong', status: 500 };
const refused = (reason: string, more: object = {}) => ({ status: 'refused', reason, ...more });

export const SUBMISSIONS: Row[] = [
  {
    when: 'is accepted',
    plan: () => undefined,
    outcome: { status: 'running', operation: { id: `p${'1'.padStart(25, '0')}`, kind: 'audio' } },
  },
  {
    when: 'is accepted with a status nobody knows',
    plan: (stub) => {
      stub.moments = [{ status: 'dreaming' }];
    },
    outcome: { status: 'running' },
  },
  {
    when: 'meets a service out of order in JSON',
    plan: answers(SUBMIT, 500, words),
    outcome: refused('failed'),
  },
  {
    when: 'meets an overloaded service',
    plan: answers(SUBMIT, 503, words),
    outcome: { status: 'busy', reason: 'overloaded' },
  },
  {
    when: 'meets a page of a gateway',
    plan: answers(SUBMIT, 502, '<html>Bad gateway</html>'),
    outcome: { status: 'unknown' },
  },
  {
    when: 'meets a 503 page of a gateway',
    plan: answers(SUBMIT, 503, '<html>…</html>'),
    outcome: { status: 'unknown' },
  },
  {
    when: 'is redirected',
    plan: answers(SUBMIT, 302, '', { location: 'http://127.0.0.1:1/' }),
    outcome: refused('failed'),
  },
  {
    when: 'meets a page that forbids',
    plan: answers(SUBMIT, 400, '<html>blocked</html>'),
    outcome: refused('failed'),
  },
  {
    when: 'is throttled with a header',
    plan: answers(SUBMIT, 429, { detail: 'slow' }, { 'retry-after': '7' }),
    outcome: { status: 'busy', reason: 'rate_limited', retryAfterMs: 7_000 },
  },
  {
    when: 'is throttled with retry_after',
    plan: answers(SUBMIT, 429, { detail: 'slow', retry_after: 10 }),
    outcome: { status: 'busy', retryAfterMs: 10_000 },
  },
  {
    when: 'is throttled in words',
    plan: (stub) => {
      stub.throttled = 1;
    },
    outcome: { status: 'busy', retryAfterMs: 30_000 },
  },
  {
    when: 'is throttled in older words',
    plan: answers(SUBMIT, 429, { detail: 'Request was throttled. Expected available in 1 second.' }),
    outcome: { status: 'busy', retryAfterMs: 1_000 },
  },
  {
    when: 'is accepted and its reply lost',
    plan: (stub) => {
      stub.faults.push({ at: SUBMIT, fault: { kind: 'lost' } });
    },
    outcome: { status: 'unknown' },
  },
  {
    when: 'is accepted and never answered',
    plan: (stub) => {
      stub.faults.push({ at: SUBMIT, fault: { kind: 'hang' } });
    },
    outcome: { status: 'unknown' },
  },
  {
    when: 'is answered with garbage',
    plan: answers(SUBMIT, 201, '{"id": "p'),
    outcome: { status: 'unknown' },
  },
  {
    when: 'is answered with an id that is a path',
    plan: answers(SUBMIT, 201, { id: '../files', status: 'starting' }),
    outcome: { status: 'unknown' },
  },
  {
    when: 'comes with a wrong token',
    plan: (stub) => {
      stub.faults.push({
        at: SUBMIT,
        fault: { kind: 'reply', status: 401, body: { title: 'Unauthenticated', detail: 'secret words' } },
      });
    },
    outcome: refused('credential', { message: 'The provider did not accept our credential.' }),
  },
  {
    when: 'meets an empty account',
    plan: (stub) => {
      stub.insufficientCredit = true;
    },
    outcome: refused('credential'),
  },
  {
    when: 'names a model that is not there',
    plan: () => undefined,
    order: () => song({ upstreamModel: 'nobody/nothing' }),
    outcome: refused('credential'),
  },
  {
    when: 'names a version that is not there',
    plan: () => undefined,
    order: () => song({ upstreamModel: 'google/lyria-2:f00' }),
    outcome: refused('credential'),
  },
  {
    when: 'names no model of the service',
    plan: () => undefined,
    order: () => song({ upstreamModel: '../v1/account' }),
    outcome: refused('credential'),
  },
  {
    when: 'has a wrong input',
    plan: () => undefined,
    order: () => film({ durationSeconds: 5 }),
    outcome: refused('invalid_request', { message: 'input.duration: Must be one of the following: 4, 6, 8' }),
  },
  {
    when: 'asks for what the model does not have',
    plan: () => undefined,
    order: () => song({ durationSeconds: 30, loop: true }),
    outcome: refused('invalid_request', { message: 'The model does not support duration_seconds, loop.' }),
  },
  {
    when: 'is refused for a field of our own making',
    plan: answers(SUBMIT, 422, {
      title: 'Input validation failed',
      detail: '- webhook: no',
      invalid_fields: [{ type: 'invalid', field: 'webhook', description: 'no' }],
    }),
    outcome: refused('failed', { message: 'The provider failed.' }),
  },
  {
    when: 'is refused for its content',
    plan: answers(SUBMIT, 422, {
      title: 'Unprocessable',
      detail: 'The prompt was flagged as sensitive.\n(E005)',
    }),
    outcome: refused('content_policy', { message: 'The prompt was flagged as sensitive. (E005)' }),
  },
  {
    when: 'is refused at endless length',
    plan: answers(SUBMIT, 400, { detail: `no\u0000\n${'x'.repeat(5_000)}` }),
    outcome: refused('invalid_request', { message: `no ${'x'.repeat(297)}` }),
  },
];

export const QUESTIONS: Row[] = [
  {
    when: 'is processed',
    plan: ended({ status: 'processing', logs: 'a 5% start\n 42%|████ | 21/50' }),
    outcome: { status: 'running', percent: 42 },
  },
  {
    when: 'is nearly done',
    plan: ended({ status: 'processing', logs: '100%|█| 50/50' }),
    outcome: { status: 'running', percent: 99 },
  },
  {
    when: 'is back at its beginning',
    plan: (stub) => {
      stub.moments = [{ status: 'processing', logs: '50%' }, { status: 'starting' }];
    },
    outcome: { status: 'running' },
  },
  {
    when: 'has a status nobody knows',
    plan: ended({ status: 'queued_elsewhere' }),
    outcome: { status: 'running' },
  },
  {
    when: 'failed',
    plan: ended({ status: 'failed', error: 'CUDA out of memory for "my secret" (E1001)' }),
    outcome: refused('failed', {
      message: 'The provider failed.',
      detail: `prediction p${'1'.padStart(25, '0')} failed E1001`,
    }),
  },
  { when: 'failed without a word', plan: ended({ status: 'failed' }), outcome: refused('failed') },
  {
    when: 'was refused for its content',
    plan: ended({
      status: 'failed',
      error: 'The input or output was flagged as sensitive. Please try again with different inputs. (E005)',
    }),
    outcome: refused('content_policy'),
  },
  {
    when: 'was refused by the filter of its maker',
    plan: ended({ status: 'failed', error: 'the output video may contain sensitive information' }),
    outcome: refused('content_policy'),
  },
  {
    when: 'failed for a wrong input',
    plan: ended({ status: 'failed', error: 'Input validation error: the image cannot be read' }),
    outcome: refused('invalid_request', { message: 'Input validation error: the image cannot be read' }),
  },
  { when: 'was cancelled at its deadline', plan: ended({ status: 'canceled' }), outcome: refused('failed') },
  { when: 'was aborted before it began', plan: ended({ status: 'aborted' }), outcome: refused('failed') },
  { when: 'succeeded without an output', plan: ended({ status: 'succeeded' }), outcome: refused('failed') },
  {
    when: 'succeeded and its output was removed',
    plan: ended({ status: 'succeeded', data_removed: true }),
    outcome: refused('failed', { detail: expect.stringContaining('removed') }),
  },
  {
    when: 'succeeded with words',
    plan: ended({ status: 'succeeded', output: 'hello Alice' }),
    outcome: refused('failed'),
  },
  {
    when: 'has its output at a private address',
    plan: ended({ status: 'succeeded', output: 'http://10.0.0.1/a.mp3' }),
    outcome: refused('failed'),
  },
  {
    when: 'has its output nowhere yet',
    plan: (stub) => {
      stub.moments = [
        { status: 'starting' },
        { status: 'succeeded', output: `${stub.deliveryUrl}/late.mp3` },
      ];
    },
    outcome: { status: 'running' },
  },
  {
    when: 'delivers an empty file',
    plan: succeeded((at) => at, { body: Buffer.alloc(0) }),
    outcome: refused('failed'),
  },
  {
    when: 'delivers a page',
    plan: succeeded((at) => at, { body: Buffer.from('<html>gone</html>'), contentType: 'audio/mpeg' }),
    outcome: refused('failed'),
  },
  {
    when: 'delivers audio instead of a video',
    plan: succeeded((at) => at, { body: mp3 }),
    order: film,
    outcome: refused('failed'),
  },
  {
    when: 'delivers an address',
    plan: succeeded((at) => at, { body: mp3 }),
    outcome: { status: 'done', output: { contentType: 'audio/mpeg' } },
  },
  {
    when: 'delivers a list',
    plan: succeeded((at) => [at, `${at}/other`], { body: mp3 }),
    outcome: { status: 'done' },
  },
  {
    when: 'delivers an object with a cover beside it',
    plan: succeeded((at) => ({ cover: 'https://replicate.delivery/c.png', audio: { url: at } }), {
      body: mp3,
      name: '/out/a.mp3',
    }),
    outcome: { status: 'done' },
  },
  {
    when: 'delivers a video',
    plan: succeeded((at) => [at], { body: MP4 }),
    order: film,
    outcome: { status: 'done', output: { contentType: 'video/mp4' } },
  },
  {
    when: 'is asked for with a token that was revoked',
    plan: answers(POLL, 401, { title: 'Unauthenticated' }),
    outcome: refused('credential'),
  },
  { when: 'is gone', plan: answers(POLL, 404, { detail: 'Not found' }), outcome: refused('failed') },
  {
    when: 'meets a 404 page of a gateway',
    plan: answers(POLL, 404, '<html>?</html>'),
    outcome: { status: 'unknown' },
  },
  { when: 'meets a failure of the service', plan: answers(POLL, 500, words), outcome: { status: 'unknown' } },
  {
    when: 'is asked for too often',
    plan: answers(POLL, 429, { detail: 'slow' }, { 'retry-after': '3' }),
    outcome: { status: 'busy', retryAfterMs: 3_000 },
  },
  { when: 'is answered with garbage', plan: answers(POLL, 200, 'null'), outcome: { status: 'unknown' } },
  {
    when: 'is answered for another one',
    plan: answers(POLL, 200, {
      id: 'other',
      status: 'succeeded',
      output: 'https://replicate.delivery/a.mp3',
    }),
    outcome: { status: 'unknown' },
  },
  {
    when: 'is not answered',
    plan: (stub) => {
      stub.faults.push({ at: POLL, fault: { kind: 'hang' } });
    },
    outcome: { status: 'unknown' },
  },
];
