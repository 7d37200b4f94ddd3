import { describe, expect, it } from 'vitest';
import {
  GIVEN_BACK,
  isFinal,
  isRunning,
  JOB_STATES,
  type JobState,
  predecessors,
  wasWithdrawn,
} from '../../domain/jobs.ts';

const REFUNDED = ['failed', 'timed_out', 'cancelled'] as const;

describe('the states of a job', () => {
  it.each<[JobState, JobState[]]>([
    ['accepted', []],
    ['submitted', ['accepted']],
    ['stored', ['accepted', 'submitted']],
    ['deleted', ['stored']],
    ['expired', ['stored']],
    ['failed', ['accepted', 'submitted']],
    ['timed_out', ['accepted', 'submitted']],
    ['cancelled', ['accepted', 'submitted']],
  ])('%s is entered from %j only', (to, from) => {
    expect(predecessors(to)).toEqual(from);
  });

  it('are each initial, final or intermediate in exactly one way', () => {
    const leaving = new Set(JOB_STATES.flatMap(predecessors));
    for (const state of JOB_STATES) {
      expect([state, isFinal(state)]).toEqual([state, !leaving.has(state)]);
      expect(isRunning(state) && isFinal(state)).toBe(false);
    }
  });

  it('are never entered twice, because no path leads back', () => {
    const reachable = (from: JobState): JobState[] => {
      const next = JOB_STATES.filter((to) => predecessors(to).includes(from));
      return [...next, ...next.flatMap(reachable)];
    };
    for (const state of JOB_STATES) expect(reachable(state)).not.toContain(state);
  });

  it.each(REFUNDED)('%s, which refunds, is entered only before an output was stored', (state) => {
    expect(isFinal(state)).toBe(true);
    expect(predecessors(state)).toEqual(JOB_STATES.filter(isRunning));
  });
});

describe('a withdrawn job', () => {
  const given = {
    state: 'failed',
    failureCode: GIVEN_BACK.code,
    failureMessage: GIVEN_BACK.message,
  } as const;

  it('is a job that failed with the message of a lost acceptance', () => {
    expect(wasWithdrawn(given)).toBe(true);
  });

  it.each([
    ['a job that failed of something else', { failureCode: 'provider_failed' }],
    ['a job that failed with other words', { failureMessage: 'The provider is busy.' }],
    ['a job that failed without words', { failureCode: null, failureMessage: null }],
    ...JOB_STATES.filter((state) => state !== 'failed').map((state): [string, { state: JobState }] => [
      `a job that is ${state}`,
      { state },
    ]),
  ])('is not %s', (_what, more) => {
    expect(wasWithdrawn({ ...given, ...more })).toBe(false);
  });
});
