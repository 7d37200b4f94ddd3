import { expect, it } from 'vitest';
import { createSemaphore } from '../../infra/semaphore.ts';
import { TooManyWait } from '../../infra/tooBusy.ts';

const { signal: never } = new AbortController();

/** Work that the test ends. */
function piece() {
  const { promise, resolve } = withResolvers();
  return { end: resolve, work: () => promise };
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  const made = { resolve: (): void => undefined };
  const promise = new Promise<void>((resolve) => {
    made.resolve = resolve;
  });
  return { promise, resolve: () => made.resolve() };
}

it('admits up to its limit at once, and the others in their order', async () => {
  const turns = createSemaphore({ atOnce: 2, maxWaiting: 10, maxWaitMs: 60_000 });
  const pieces = Array.from({ length: 5 }, piece);
  const begun: number[] = [];
  const runs = pieces.map(({ work }, index) =>
    turns.run(() => {
      begun.push(index);
      return work();
    }, never),
  );
  await Promise.resolve();
  expect(begun).toEqual([0, 1]);
  pieces[1]?.end();
  await runs[1];
  expect(begun).toEqual([0, 1, 2]);
  for (const { end } of pieces) end();
  await Promise.all(runs);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

it('rejects a caller beyond the queue, after too long a wait, or after an abort', async () => {
  const turns = createSemaphore({ atOnce: 1, maxWaiting: 2, maxWaitMs: 50 });
  const first = piece();
  const running = turns.run(first.work, never);
  const controller = new AbortController();
  const late = turns.run(async () => 'late', never);
  const leaving = turns.run(async () => 'left', controller.signal);
  await expect(turns.run(async () => 'more', never)).rejects.toThrow(TooManyWait);
  controller.abort(new Error('given up'));
  await expect(leaving).rejects.toThrow('given up');
  await expect(late).rejects.toThrow('no turn in time');
  first.end();
  await running;
  expect(await turns.run(async () => 'again', never)).toBe('again');
});

it('continues after work that failed', async () => {
  const turns = createSemaphore({ atOnce: 1, maxWaiting: 1, maxWaitMs: 1_000 });
  const fail = () => Promise.reject(new Error('broken'));
  await expect(turns.run(fail, never)).rejects.toThrow('broken');
  expect(await turns.run(async () => 'well', never)).toBe('well');
});
