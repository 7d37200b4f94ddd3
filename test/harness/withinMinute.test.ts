import { afterEach, expect, it, vi } from 'vitest';
import { withinMinute } from './withinMinute.ts';

afterEach(() => vi.useRealTimers());

/** A test that fails after so many milliseconds on the wall clock. */
function failingAfter(ms: number) {
  vi.useFakeTimers();
  return vi.fn(async () => {
    vi.setSystemTime(Date.now() + ms);
    throw new Error('counted otherwise');
  });
}

it('reports a failure within a minute at once', async () => {
  const body = failingAfter(59_999);
  await expect(withinMinute(body)).rejects.toThrow('counted otherwise');
  expect(body).toHaveBeenCalledTimes(1);
});

it('runs again after a failure that took a minute or more, three times at most', async () => {
  const body = failingAfter(60_000);
  await expect(withinMinute(body)).rejects.toThrow('counted otherwise');
  expect(body).toHaveBeenCalledTimes(3);
});

it('runs a passing test once', async () => {
  const body = vi.fn(async () => undefined);
  await withinMinute(body);
  expect(body).toHaveBeenCalledTimes(1);
});
