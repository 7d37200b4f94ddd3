/** Only so much at once, in order of arrival, and nobody waits for ever. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createTurns, NoTurn } from '../../infra/turns.ts';

const NEVER = new AbortController().signal;

it('does only so much at once, in the order in which it came', async () => {
  const turns = createTurns({ atOnce: 2, mostWaiting: 10, longestWaitMs: 5_000 });
  let [running, most] = [0, 0];
  const begun: number[] = [];
  const work = (index: number) => async () => {
    begun.push(index);
    running += 1;
    most = Math.max(most, running);
    await sleep(5);
    running -= 1;
    return index;
  };
  const done = await Promise.all(Array.from({ length: 8 }, (_, index) => turns.take(work(index), NEVER)));
  expect([done, begun, most]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7], 2]);
});

it('hands the turn on, also when the work fails', async () => {
  const turns = createTurns({ atOnce: 1, mostWaiting: 10, longestWaitMs: 5_000 });
  const failing = turns.take(() => Promise.reject(new Error('no')), NEVER);
  const next = turns.take(async () => 'done', NEVER);
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('done');
});

it('refuses when the line is full, and when it does not move', async () => {
  const turns = createTurns({ atOnce: 1, mostWaiting: 1, longestWaitMs: 30 });
  const held = turns.take(() => sleep(150, 'first'), NEVER);
  const waits = turns.take(async () => 'second', NEVER);
  await expect(turns.take(async () => 'third', NEVER)).rejects.toBeInstanceOf(NoTurn);
  await expect(waits).rejects.toBeInstanceOf(NoTurn);
  expect(await held).toBe('first');
  expect(await turns.take(async () => 'fourth', NEVER)).toBe('fourth');
});

it('lets go of whoever does not wait any more', async () => {
  const turns = createTurns({ atOnce: 1, mostWaiting: 5, longestWaitMs: 5_000 });
  const held = turns.take(() => sleep(50, 'first'), NEVER);
  const gone = new AbortController();
  const left = turns.take(async () => 'second', gone.signal);
  const third = turns.take(async () => 'third', NEVER);
  gone.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  expect(await Promise.all([held, third])).toEqual(['first', 'third']);
});
