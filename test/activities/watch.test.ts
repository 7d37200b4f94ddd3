/** Metrics of activity attempts: the outcome of each, and none for attempts that only wait. */
import { ApplicationFailure, Context } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { retryLater } from '../../activities/asActivity.ts';
import { watchActivity } from '../../activities/watch.ts';
import { activitySeconds, activityWaitSeconds } from '../../infra/telemetry/counters.ts';

type Info = ConstructorParameters<typeof MockActivityEnvironment>[0];

async function counted(type: string): Promise<Record<string, number>> {
  const { values } = await activitySeconds.get();
  const own = values.filter(({ labels, metricName }) => labels.activity === type && metricName?.endsWith('_count'));
  return Object.fromEntries(own.map(({ labels, value }) => [String(labels.outcome), value]));
}

async function waits(queue: string): Promise<number> {
  const { values } = await activityWaitSeconds.get();
  const own = values.find(
    ({ labels, metricName }) => Object.values(labels).includes(queue) && metricName?.endsWith('_count'),
  );
  return own?.value ?? 0;
}

/** Runs an activity between the interceptors, as the worker does. Returns its result or error. */
async function watched(info: Info, step: (environment: MockActivityEnvironment) => Promise<unknown>) {
  const environment = new MockActivityEnvironment(info);
  return await environment.run(async () => {
    const execute = watchActivity(Context.current()).inbound?.execute;
    if (!execute) throw new Error('nothing watches');
    return await execute({ args: [], headers: {} }, () => step(environment)).catch((error: unknown) => error);
  });
}

describe('an attempt of an activity', () => {
  it.each<[string, (environment: MockActivityEnvironment) => Promise<unknown>]>([
    ['done', async () => 'result'],
    ['failed', () => Promise.reject(new Error('a bug'))],
    ['failed', () => Promise.reject(ApplicationFailure.nonRetryable('refused', 'invalid_request'))],
    ['waiting', () => Promise.reject(retryLater({ type: 'StillRunning', message: 'not yet' }))],
    [
      'cancelled',
      (environment) => {
        environment.cancel('CANCELLED');
        return Promise.reject(new Error('aborted'));
      },
    ],
  ])('is counted as %s (%#)', async (outcome, step) => {
    const activityType = `watched-${outcome}-${Math.random()}`;
    await watched({ activityType }, step);
    expect(await counted(activityType)).toEqual({ [outcome]: 1 });
  });

  it('ends with the result or error of the activity', async () => {
    expect(await watched({}, async () => 'result')).toBe('result');
    const asked = retryLater({ type: 'NoPlace', message: 'in line' }, 500);
    expect(await watched({}, () => Promise.reject(asked))).toBe(asked);
    const fault = new Error('a bug');
    expect(await watched({}, () => Promise.reject(fault))).toBe(fault);
  });

  it('records its time in the task queue, except for a local activity', async () => {
    const taskQueue = `queue-${Math.random()}`;
    await watched({ taskQueue, isLocal: true }, async () => undefined);
    expect(await waits(taskQueue)).toBe(0);
    await watched(
      { taskQueue, isLocal: false, currentAttemptScheduledTimestampMs: Date.now() - 50 },
      async () => undefined,
    );
    expect(await waits(taskQueue)).toBe(1);
  });
});
