/** Outcomes of submitting an order. */
import { film, song } from './callReplicate.ts';
import { answers, mp3, type Row, refused, SUBMIT, succeeded, words } from './plans.ts';

export const SUBMISSIONS: Row[] = [
  {
    when: 'is accepted',
    plan: () => undefined,
    outcome: { status: 'running', operation: { id: `p${'1'.padStart(25, '0')}`, kind: 'audio' } },
  },
  {
    when: 'is done at once',
    plan: (stub) => {
      succeeded((at) => at, { body: mp3 })(stub);
      stub.moments.shift();
    },
    outcome: { status: 'done' },
  },
  {
    when: 'is done at once and its output not there yet',
    plan: (stub) => {
      stub.moments = [{ status: 'succeeded', output: `${stub.deliveryUrl}/late.mp3` }];
    },
    outcome: { status: 'running' },
  },
  {
    when: 'has failed at once',
    plan: (stub) => {
      stub.moments = [{ status: 'failed', error: 'no' }];
    },
    outcome: refused('failed'),
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
    when: 'meets a 502 in the words of the service',
    plan: answers(SUBMIT, 502, words),
    outcome: refused('failed'),
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
    outcome: refused('refused', { message: 'input.duration: Must be one of the following: 4, 6, 8' }),
  },
  {
    when: 'asks for what the model does not have',
    plan: () => undefined,
    order: () => song({ durationSeconds: 30, loop: true }),
    outcome: refused('refused', { message: 'The model does not support duration_seconds, loop.' }),
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
    outcome: refused('refused', { message: `no ${'x'.repeat(297)}` }),
  },
];
