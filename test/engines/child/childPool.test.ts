import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type ChildAnswer, createChildPool } from '../../../engines/child/childPool.ts';
import { TooManyWait } from '../../../infra/tooBusy.ts';

const path = fileURLToPath(new URL('../../fixtures/stubbornChild.mjs', import.meta.url));
const LIMITS = { heapMb: 64, cpuSeconds: 60, name: 'test', filesPerChild: 100, maxChildren: 1 };

function open(limits: { timeoutMs: number; maxWaiting: number; maxWaitMs?: number }) {
  return createChildPool<{ path: string }, ChildAnswer>({ ...LIMITS, path, ...limits });
}

describe('a pool of child processes', () => {
  it('rejects a caller that waited too long for a child, and serves the next one when a child is free', async () => {
    const pool = open({ timeoutMs: 6_000, maxWaiting: 10, maxWaitMs: 300 });
    const hung = pool.ask({ path: '/hang' });
    await sleep(50);
    let isOver = false;
    void hung.finally(() => {
      isOver = true;
    });
    await expect(pool.ask({ path: '/fine' })).rejects.toBeInstanceOf(TooManyWait);
    expect(isOver).toBe(false);
    expect(await hung).toBeUndefined();
    expect(await pool.ask({ path: '/fine' })).toMatchObject({ file: 1 });
    pool.close();
  });

  it('gives its child to the next waiting caller, not to one that aborted', async () => {
    const pool = open({ timeoutMs: 3_000, maxWaiting: 10 });
    const hung = pool.ask({ path: '/hang' });
    await sleep(50);
    const leaving = new AbortController();
    const left = pool.ask({ path: '/left' }, leaving.signal);
    const next = pool.ask({ path: '/next' });
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(await hung).toBeUndefined();
    expect(await next).toMatchObject({ file: 1 });
    pool.close();
  });

  it('limits the number of waiting callers', async () => {
    const pool = open({ timeoutMs: 3_000, maxWaiting: 1 });
    const first = pool.ask({ path: '/hang' });
    const second = pool.ask({ path: '/fine' });
    await expect(pool.ask({ path: '/fine' })).rejects.toBeInstanceOf(TooManyWait);
    expect(await first).toBeUndefined();
    expect(await second).toMatchObject({ file: 1 });
    pool.close();
  });
});
