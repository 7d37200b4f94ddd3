import { describe, expect, it } from 'vitest';
import { allOrNone } from '../../infra/allOrNone.ts';

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));

describe('work of which all or nothing counts', () => {
  it('returns the results in the order of the works', async () => {
    const { signal } = new AbortController();
    const late = async () => await Promise.resolve('first');
    expect(await allOrNone(signal, [late, async () => 'second'])).toEqual(['first', 'second']);
  });

  it('aborts the others after a failure, and throws that failure when all have ended', async () => {
    const { signal } = new AbortController();
    let hasEnded = false;
    const other = async (either: AbortSignal) => {
      await untilAborted(either).catch(() => undefined);
      await Promise.resolve();
      hasEnded = true;
      throw new Error('aborted');
    };
    const failing = async () => {
      throw new Error('no result');
    };
    await expect(allOrNone(signal, [other, failing])).rejects.toThrow('no result');
    expect(hasEnded).toBe(true);
  });

  it('ends when its caller gives up', async () => {
    const caller = new AbortController();
    const running = allOrNone(caller.signal, [untilAborted, untilAborted]);
    caller.abort();
    await expect(running).rejects.toThrow('aborted');
  });
});
