import { setTimeout as sleep } from 'node:timers/promises';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { withHeartbeat } from '../../activities/asActivity.ts';
import { until } from '../harness/until.ts';

function watched(heartbeatTimeoutMs: number | undefined) {
  const environment = new MockActivityEnvironment(heartbeatTimeoutMs === undefined ? {} : { heartbeatTimeoutMs });
  const beats: number[] = [];
  environment.on('heartbeat', () => beats.push(performance.now()));
  return { environment, beats };
}

describe('the heartbeat of an activity', () => {
  it('is sent several times within its timeout, whatever the activity waits for', async () => {
    const { environment, beats } = watched(200);
    await environment.run(() => withHeartbeat(() => until('it beats', () => beats.length >= 4)));
    const gaps = beats.slice(1).map((at, index) => at - (beats[index] ?? 0));
    expect(Math.min(...gaps)).toBeLessThan(200);
  });

  it('ends with the activity, whether that succeeds or fails', async () => {
    const { environment, beats } = watched(40);
    await environment.run(() => withHeartbeat(() => sleep(60)));
    await expect(environment.run(() => withHeartbeat(() => Promise.reject(new Error('disk full'))))).rejects.toThrow(
      'disk full',
    );
    const count = beats.length;
    await sleep(120);
    expect(beats.length).toBe(count);
  });

  it.each([undefined, 0])('is not sent without a heartbeat timeout (%s)', async (timeoutMs) => {
    const { environment, beats } = watched(timeoutMs);
    expect(await environment.run(() => withHeartbeat(() => sleep(60, 'done')))).toBe('done');
    expect(beats).toEqual([]);
  });
});
