import { afterEach, expect, it, vi } from 'vitest';
import { withinMinute } from './withinMinute.ts';

afterEach(() => vi.useRealTimers());

/** Fails each time, after the clock has moved on. */
function failingAfter(ms: number) {
  vi.useFakeTimers();
  return vi.fn(async () => {
    vi.setSystemTime(Date.now() + ms);
    throw new Error('counted otherwise');
  });
}

it('a failure within a minute stands', async () => {
  const body = failingAfter(59_999);
  await expect(withinMinute(body)).rejects.toThrow('counted otherwise');
  expect(body).toHaveBeenCalledTimes(1);
});

it('a failure after more than a minute is looked at again, and stands at the third time', async () => {
  const body = failingAfter(60_000);
  await expect(withinMinute(body)).rejects.toThrow('counted otherwise');
  expect(body).toHaveBeenCalledTimes(3);
});

it('what passes runs once', async () => {
  const body = vi.fn(async () => undefined);
  await withinMinute(body);
  expect(body).toHaveBeenCalledTimes(1);
});
