/** Failures at the Temporal boundary: whether they are retried, and that internal details stay out. */
import { ApplicationFailure, cancellationSignal } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { asActivity, retryLater } from '../../activities/asActivity.ts';
import { ERROR_CODES, type ErrorCode, FareboxError } from '../../domain/errors.ts';

/** Codes of retryable failures: a limit, a busy provider, a missing service, an unknown fault. */
const TRIED_AGAIN: readonly ErrorCode[] = ['rate_limited', 'provider_busy', 'timed_out', 'unavailable', 'internal'];

async function failureOf(thrown: unknown): Promise<ApplicationFailure> {
  const step = () => asActivity(() => Promise.reject(thrown));
  const failure = await new MockActivityEnvironment().run(step).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(failure instanceof ApplicationFailure)) throw new Error('the step threw something else');
  return failure;
}

describe('an activity that throws a FareboxError', () => {
  it.each(ERROR_CODES)('%s: is retried only where that can help', async (code) => {
    const failure = await failureOf(new FareboxError({ code, message: 'words for the client' }));
    expect(failure).toMatchObject({ type: code, message: 'words for the client' });
    expect(failure.nonRetryable).toBe(!TRIED_AGAIN.includes(code));
  });

  it('keeps the internal words and the cause of an error out of the history', async () => {
    const failure = await failureOf(
      new FareboxError({
        code: 'unavailable',
        message: 'Try again.',
        internal: 'redis-7',
        cause: new Error('10.0.0.5'),
      }),
    );
    expect(JSON.stringify([failure.message, failure.details, failure.cause, failure.stack])).not.toMatch(
      /redis-7|10\.0\.0\.5/,
    );
  });
});

describe('an activity that throws anything else', () => {
  it.each([
    ['an error of a program', new TypeError('undefined is not a function'), 'TypeError'],
    ['an error with a secret in it', Object.assign(new Error('password=hunter2'), { name: 'PgError' }), 'PgError'],
    ['no error at all', 'hunter2', undefined],
    ['nothing', undefined, undefined],
  ])('%s: is retried, and exposes only the name of the error', async (_what, thrown, name) => {
    const failure = await failureOf(thrown);
    expect(failure).toMatchObject({ type: 'internal', message: 'The step failed; the log says why.' });
    expect(failure.nonRetryable).toBe(false);
    expect(failure.cause?.message).toBe(name);
    expect(JSON.stringify([failure.message, failure.cause?.message])).not.toMatch(/hunter2|not a function/);
  });
});

describe('an activity that requests a retry', () => {
  it.each([
    [undefined, undefined],
    [0, 0],
    [3_000, 3_000],
  ])('is passed on as it is, with its pause of %s ms', async (retryAfterMs, pause) => {
    const asked = retryLater({ type: 'StillRunning', message: 'The provider is still working.' }, retryAfterMs);
    const failure = await failureOf(asked);
    expect(failure).toBe(asked);
    expect(failure).toMatchObject({ type: 'StillRunning', nonRetryable: false, category: 'BENIGN' });
    expect(failure.nextRetryDelay).toBe(pause);
  });
});

describe('a step', () => {
  it('returns the result of its function', async () => {
    const environment = new MockActivityEnvironment();
    expect(await environment.run(() => asActivity(async () => ({ kind: 'stored' })))).toEqual({
      kind: 'stored',
    });
  });

  it('that ends when it is cancelled fails and returns no result', async () => {
    const environment = new MockActivityEnvironment();
    const step = () =>
      asActivity(
        () =>
          new Promise<never>((_resolve, reject) => {
            const signal = cancellationSignal();
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          }),
      );
    const running = environment.run(step);
    setTimeout(() => environment.cancel('WORKER_SHUTDOWN'), 10);
    await expect(running).rejects.toMatchObject({ type: 'internal', nonRetryable: false });
  });
});
