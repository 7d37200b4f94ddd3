import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { FareboxError } from '../../../domain/errors.ts';
import { type BatcherOptions, createBatcher } from '../../../infra/postgres/batcher.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function databaseError(code: string): pg.DatabaseError {
  const error = new pg.DatabaseError('failed', 1, 'error');
  error.code = code;
  return error;
}

/** A batcher over a function that doubles, with a record of its batches. */
function doubling(options: Partial<BatcherOptions<number, number>> = {}) {
  const batches: number[][] = [];
  const batcher = createBatcher<number, number>({
    run: async (requests) => {
      batches.push(requests);
      await pause(2);
      return requests.map((request) => request * 2);
    },
    ...options,
  });
  return { batcher, batches };
}

describe('a batcher', () => {
  it('runs the calls of one tick as one batch in order, and answers each', async () => {
    const { batcher, batches } = doubling();
    expect(await Promise.all([1, 2, 3].map((number) => batcher.call(number)))).toEqual([2, 4, 6]);
    expect(batches).toEqual([[1, 2, 3]]);
  });

  it('limits the size of a batch', async () => {
    const { batcher, batches } = doubling({ maxBatch: 3 });
    const numbers = Array.from({ length: 10 }, (_, number) => number);
    expect(await Promise.all(numbers.map((number) => batcher.call(number)))).toEqual(numbers.map((n) => n * 2));
    expect(batches.map((batch) => batch.length)).toEqual([3, 3, 3, 1]);
    expect(batches.flat()).toEqual(numbers);
  });

  it('sends waiting calls before those that follow an answer', async () => {
    const order: string[] = [];
    const { batcher } = doubling({
      run: async (requests) => {
        order.push(`sent ${requests}`);
        await pause(5);
        return requests;
      },
    });
    const first = batcher.call(1).then(() => order.push('answered 1'));
    while (order.length === 0) await pause(0);
    await Promise.all([first, batcher.call(2)]);
    expect(order).toEqual(['sent 1', 'sent 2', 'answered 1']);
  });

  it('limits the batches in flight, and collects calls meanwhile', async () => {
    let now = 0;
    let most = 0;
    const { batcher, batches } = doubling({
      maxInFlight: 2,
      maxBatch: 4,
      run: async (requests) => {
        now += 1;
        most = Math.max(most, now);
        batches.push(requests);
        await pause(3);
        now -= 1;
        return requests;
      },
    });
    const calls: Promise<number>[] = [];
    for (let number = 0; number < 40; number += 1) {
      calls.push(batcher.call(number));
      if (number % 5 === 0) await pause(1);
    }
    await Promise.all(calls);
    expect(most).toBe(2);
    expect(batches.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, number) => number));
  });

  it('refuses calls beyond its queue as unavailable, and serves the rest', async () => {
    const { batcher } = doubling({ maxWaiting: 5 });
    const results = await Promise.allSettled(Array.from({ length: 8 }, (_, number) => batcher.call(number)));
    expect(results.map((result) => result.status)).toEqual([
      ...Array(5).fill('fulfilled'),
      ...Array(3).fill('rejected'),
    ]);
    for (const result of results.slice(5)) {
      expect(result).toMatchObject({ reason: { code: 'unavailable', retryAfterSeconds: 1 } });
    }
    expect(await batcher.call(21)).toBe(42);
  });

  it('answers a call at its deadline even if the batch never ends', async () => {
    const { batcher } = doubling({ deadlineMs: 30, run: () => new Promise(() => undefined) });
    await expect(batcher.call(1)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('does not run a call whose deadline passed in the queue', async () => {
    const seen: number[] = [];
    const { batcher } = doubling({
      maxInFlight: 1,
      maxBatch: 1,
      deadlineMs: 40,
      run: async (requests) => {
        seen.push(...requests);
        await pause(60);
        return requests;
      },
    });
    const results = await Promise.allSettled([batcher.call(1), batcher.call(2), batcher.call(3)]);
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected', 'rejected']);
    await pause(80);
    expect(seen).toEqual([1]);
  });

  it.each(['40001', '40P01', '57P01', '08006', '53300'])('retries a batch that failed with %s', async (code) => {
    let failures = 2;
    const { batcher, batches } = doubling({
      run: async (requests) => {
        batches.push(requests);
        if (failures-- > 0) throw databaseError(code);
        return requests.map((request) => request * 2);
      },
    });
    expect(await Promise.all([batcher.call(1), batcher.call(2)])).toEqual([2, 4]);
    expect(batches).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
    ]);
  });

  it('gives up after its last attempt, as unavailable, with the cause', async () => {
    let tries = 0;
    const { batcher } = doubling({
      attempts: 3,
      run: async () => {
        tries += 1;
        throw databaseError('57P01');
      },
    });
    const failure = await batcher.call(1).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(FareboxError);
    expect(failure).toMatchObject({ code: 'unavailable', cause: { code: '57P01' } });
    expect(tries).toBe(3);
  });

  it('fails only the call that breaks its batch', async () => {
    const { batcher } = doubling({
      run: async (requests) => {
        if (requests.includes(13)) throw databaseError('22P02');
        return requests.map((request) => request * 2);
      },
    });
    const results = await Promise.allSettled([1, 13, 3].map((number) => batcher.call(number)));
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed'))).toEqual([
      2,
      'failed',
      6,
    ]);
    expect(results[1]).toMatchObject({ reason: { code: '22P02' } });
  });

  it('treats a wrong number of answers as a failure', async () => {
    const { batcher } = doubling({ run: async () => [] });
    await expect(batcher.call(1)).rejects.toThrow('0 answers to 1 ledger calls');
  });

  it('closes when the calls in flight have ended, and accepts no new ones', async () => {
    const { batcher, batches } = doubling({ maxBatch: 2 });
    const calls = [1, 2, 3, 4, 5].map((number) => batcher.call(number));
    let closed = false;
    const closing = batcher.close().then(() => {
      closed = true;
    });
    await expect(batcher.call(6)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await Promise.all(calls)).toEqual([2, 4, 6, 8, 10]);
    await closing;
    expect(closed).toBe(true);
    expect(batches.flat()).toEqual([1, 2, 3, 4, 5]);
    await batcher.close();
  });
});
