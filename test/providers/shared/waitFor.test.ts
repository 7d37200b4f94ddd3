import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ServiceHttpError } from '../../../infra/http/serviceHttpError.ts';
import { createQueuedJobs } from '../../../providers/shared/queuedJobs.ts';
import { type QueueState, type ServiceQueue, waitFor } from '../../../providers/shared/waitFor.ts';

type Ticket = { id: string };
type State = QueueState<Ticket, string>;
type Step = State | Error;

const ticket = { id: 'a' };
const RUNNING: State = { status: 'running', ticket };
const DONE: State = { status: 'succeeded', ticket, result: 'made' };
const REFUSED: State = { status: 'refused', reason: 'content_policy', message: 'Not this.' };
const UNKNOWN: State = { status: 'unknown', detail: 'HTTP 502' };
const lost = new ServiceHttpError('lost', 'unknown', new Error('reset'));
const unsent = new ServiceHttpError('unreachable', 'not_sent', new Error('refused'));
const late = () => {
  const cause = Object.assign(new Error(), { name: 'TimeoutError' });
  return new ServiceHttpError('stopped', 'unknown', cause);
};

interface Watched {
  queue: ServiceQueue<string, Ticket, string>;
  /** Names of the steps taken. */
  steps: string[];
}

/** Answers the steps in order, then repeats the last one. */
function queueOf(submitted: Step | Promise<State>, ...checks: Step[]): Watched {
  const steps: string[] = [];
  const answer = async (name: string, step: Step | Promise<State> | undefined) => {
    steps.push(name);
    const state = await step;
    if (state instanceof Error) throw state;
    return state ?? RUNNING;
  };
  const queue = {
    submit: () => answer('submit', submitted),
    check: () => answer('check', checks.length > 1 ? checks.shift() : checks[0]),
    cancel: async () => {
      steps.push('cancel');
      return true;
    },
  };
  return { queue, steps };
}

function wait({ queue }: Watched, signal: AbortSignal = new AbortController().signal): Promise<string> {
  return waitFor(queue, 'order', { signal, submitMs: 100_000, firstPauseMs: 1 });
}

describe('an order with a waiting client', () => {
  it('returns the result of the queue, at once or after several polls', async () => {
    expect(await wait(queueOf(DONE))).toBe('made');
    const watched = queueOf(RUNNING, RUNNING, lost, UNKNOWN, DONE);
    expect(await wait(watched)).toBe('made');
    expect(watched.steps).toEqual(['submit', 'check', 'check', 'check', 'check']);
  });

  it.each<[string, Step, string]>([
    ['was refused', REFUSED, 'content_policy'],
    ['was not sent', unsent, 'unreachable'],
    ['got no answer', lost, 'lost'],
    ['got the page of a gateway', UNKNOWN, 'lost'],
    ['has to be handed in later', { status: 'busy', reason: 'overloaded' }, 'overloaded'],
  ])('that %s is neither polled nor cancelled', async (_what, step, reason) => {
    const watched = queueOf(step);
    await expect(wait(watched)).rejects.toMatchObject({ name: 'UpstreamFailure', reason });
    expect(watched.steps).toEqual(['submit']);
  });

  it('is not cancelled after the service reported its end', async () => {
    const watched = queueOf(RUNNING, REFUSED);
    await expect(wait(watched)).rejects.toMatchObject({ reason: 'content_policy', words: 'Not this.' });
    expect(watched.steps).toEqual(['submit', 'check']);
  });

  it('is cancelled after nine unanswered polls in a row', async () => {
    const watched = queueOf(RUNNING, lost);
    await expect(wait(watched)).rejects.toMatchObject({ reason: 'lost' });
    expect(watched.steps).toEqual(['submit', ...Array.from({ length: 9 }, () => 'check'), 'cancel']);
  });

  it.each<[string, AbortSignal | undefined, string]>([
    ['at the deadline', undefined, 'timeout'],
    ['when its client leaves', AbortSignal.abort(new Error('left')), 'lost'],
  ])('is cancelled %s', async (_when, left, reason) => {
    const watched = queueOf(RUNNING, RUNNING);
    const control = new AbortController();
    const signal = left === undefined ? AbortSignal.timeout(30) : control.signal;
    if (left) setTimeout(() => control.abort(left.reason), 30);
    await expect(wait(watched, signal)).rejects.toMatchObject({ reason });
    expect(watched.steps.at(-1)).toBe('cancel');
  });

  it('is cancelled as soon as its id is known when the client disconnected before', async () => {
    const watched = queueOf(sleep(40, RUNNING));
    const control = new AbortController();
    const waiting = wait(watched, control.signal);
    control.abort(new Error('left'));
    await expect(waiting).rejects.toMatchObject({ reason: 'lost' });
    expect(watched.steps).toEqual(['submit']);
    await expect.poll(() => watched.steps).toEqual(['submit', 'cancel']);
  });
});

describe('an order of a job', () => {
  const jobsOf = ({ queue }: Watched) =>
    createQueuedJobs({
      queue,
      readHandle: ({ id }) => (typeof id === 'string' ? { id, kind: 'audio' } : undefined),
      deliver: async (path) => ({ status: 'done', output: { path, contentType: 'audio/mpeg' } }),
    });
  const context = { workFolder: '', signal: new AbortController().signal, heartbeat: () => undefined };
  const operation = { id: 'a', kind: 'audio' };

  it.each<[string, Step, object]>([
    ['may be handed in again only where it certainly was not sent', unsent, { status: 'busy' }],
    ['is unknown where it may have been sent', lost, { status: 'unknown' }],
    ['is unknown where it was late', late(), { status: 'unknown' }],
    ['runs under its handle', RUNNING, { status: 'running', operation }],
    ['may be done at once', DONE, { status: 'done' }],
  ])('%s', async (_what, step, outcome) => {
    expect(await jobsOf(queueOf(step)).submit('order', 'audio', context)).toMatchObject(outcome);
  });

  it('is polled again after a lost poll, whether that was sent or not', async () => {
    for (const error of [lost, unsent]) {
      const outcome = await jobsOf(queueOf(RUNNING, error)).check(operation, context);
      expect(outcome).toMatchObject({ status: 'unknown' });
    }
  });

  it('fails without a valid handle, and cannot be cancelled', async () => {
    const watched = queueOf(RUNNING);
    expect(await jobsOf(watched).check({}, context)).toMatchObject({ status: 'refused', reason: 'failed' });
    expect(await jobsOf(watched).cancel({}, context)).toBe(false);
    expect(watched.steps).toEqual([]);
  });
});
