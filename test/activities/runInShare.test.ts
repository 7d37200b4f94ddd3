/** Activities that fetch and decode: one account gets neither all slots nor all bytes of a worker process. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { runInShare } from '../../activities/runInShare.ts';
import type { LimitOverride } from '../../domain/limits/limits.ts';
import { createAccountShares } from '../../infra/accountShares.ts';
import { createSemaphore } from '../../infra/semaphore.ts';
import { isToldToWait } from './retryWaiting.ts';

const STEPS = 4;

function openWorker(override: LimitOverride = {}) {
  const shares = createAccountShares({ overrideOf: () => override, steps: STEPS, maxWaiting: STEPS / 2 });
  const means = {
    shares,
    mediaTurns: createSemaphore({ atOnce: STEPS, maxWaiting: STEPS, maxWaitMs: 20_000 }),
  };
  const working: string[] = [];
  let end = () => undefined as unknown;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const start = (account: string, bytes = 0): Promise<string> =>
    new MockActivityEnvironment().run(() =>
      runInShare(means, account, async (share) => {
        share.reserve(bytes);
        working.push(account);
        await ended;
        return account;
      }),
    );
  return { start, working, end: () => end() };
}

const outcomeOf = (step: Promise<string>) =>
  step.catch((error: unknown) => (isToldToWait(error) ? 'tried again' : error));

it('one account runs half of the activities, queues as many, and leaves the rest to others', async () => {
  const { start, working, end } = openWorker();
  const started = [start('a'), start('a'), start('a'), start('a')];
  expect(await outcomeOf(start('a'))).toBe('tried again');
  const others = [start('b'), start('b')];
  await expect.poll(() => working).toEqual(['a', 'a', 'b', 'b']);
  end();
  expect(await Promise.all([...started, ...others])).toEqual(['a', 'a', 'a', 'a', 'b', 'b']);
});

it('an override gives an account more slots', async () => {
  const { start, working, end } = openWorker({ slots: STEPS });
  const started = Array.from({ length: STEPS }, () => start('a'));
  await expect.poll(() => working).toHaveLength(STEPS);
  end();
  await Promise.all(started);
});

it('a job whose bytes exceed the share beside others is retried, and a single one is not', async () => {
  const { start, working, end } = openWorker({ fetchedBytes: 1_000 });
  const large = start('a', 5_000);
  await expect.poll(() => working).toEqual(['a']);
  expect(await outcomeOf(start('a', 1))).toBe('tried again');
  const other = start('b', 1_000);
  await expect.poll(() => working).toEqual(['a', 'b']);
  end();
  expect(await Promise.all([large, other])).toEqual(['a', 'b']);
  expect(await start('a', 1_000)).toBe('a');
});
