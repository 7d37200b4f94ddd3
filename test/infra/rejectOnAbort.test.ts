import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { rejectOnAbort } from '../../infra/rejectOnAbort.ts';

const listeners = ({ signal }: AbortController) => getEventListeners(signal, 'abort').length;

describe('waiting for work that continues without its caller', () => {
  it('ends when the work ends, and leaves no listener behind', async () => {
    const control = new AbortController();
    expect(await rejectOnAbort(Promise.resolve('done'), control.signal)).toBe('done');
    await expect(rejectOnAbort(Promise.reject(new Error('no')), control.signal)).rejects.toThrow('no');
    expect(listeners(control)).toBe(0);
  });

  it('ends with the reason of the signal, before or during the wait', async () => {
    const never = new Promise<void>(() => undefined);
    const reason = new Error('left');
    await expect(rejectOnAbort(never, AbortSignal.abort(reason))).rejects.toBe(reason);
    const control = new AbortController();
    const waiting = rejectOnAbort(never, control.signal);
    control.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  it('ignores how the work ends after an abort', async () => {
    const failed = Promise.reject(new Error('too late'));
    await expect(rejectOnAbort(failed, AbortSignal.abort(new Error('left')))).rejects.toThrow('left');
  });
});
