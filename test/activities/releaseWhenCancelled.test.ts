import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { releaseWhenCancelled } from '../../activities/asActivity.ts';

const GRACE_MS = 50;
const never = () => new Promise<never>(() => undefined);

describe('an activity that was cancelled', () => {
  it('is abandoned when it does not end, also when it was cancelled before it began', async () => {
    const stop = new AbortController();
    const running = releaseWhenCancelled(never, stop.signal, GRACE_MS);
    setTimeout(() => stop.abort(), 20);
    await expect(running).rejects.toMatchObject({ code: 'timed_out' });
    await expect(releaseWhenCancelled(never, stop.signal, GRACE_MS)).rejects.toMatchObject({
      code: 'timed_out',
    });
  });

  it('returns its own result or error within the grace period', async () => {
    const stop = new AbortController();
    stop.abort();
    const tidies = () => sleep(10, 'tidied');
    expect(await releaseWhenCancelled(tidies, stop.signal, GRACE_MS)).toBe('tidied');
    const fails = () => sleep(10).then(() => Promise.reject(new Error('disk full')));
    await expect(releaseWhenCancelled(fails, stop.signal, GRACE_MS)).rejects.toThrow('disk full');
  });

  it('does not limit an activity that nobody cancelled', async () => {
    const calm = new AbortController().signal;
    expect(await releaseWhenCancelled(() => sleep(GRACE_MS * 3, 'done'), calm, GRACE_MS)).toBe('done');
  });
});
