/** Headers for the time that a client waits, and for the time limit of a job. */
import { describe, expect, it } from 'vitest';
import { cancelAfterMs } from '../../../api/queue/cancelAfter.ts';
import { preferredWait } from '../../../api/queue/preferredWait.ts';
import { MAX_HOSTILE_MS, ranMs } from '../../harness/stall.ts';

describe('Prefer', () => {
  it.each<[string | undefined, number | undefined]>([
    [undefined, undefined],
    ['', undefined],
    ['wait=1', 1],
    ['wait=60', 60],
    ['wait=61', 60],
    ['wait=99999999999999999999999', 60],
    ['wait=0', undefined],
    ['wait', undefined],
    ['wait=', undefined],
    ['wait=-1', undefined],
    ['wait=1.5', undefined],
    ['wait=1e1', undefined],
    ['wait=10s', undefined],
    ['wait=٣', undefined],
    ['WAIT = 7', 7],
    ['wait="8"', 8],
    ['wait=9; foo="bar, wait=3"', 9],
    ['respond-async, wait=10', 10],
    ['foo="a, wait=3", wait=4', 4],
    ['foo="a\\", wait=3", wait=4', 4],
    ['wait=5, wait=6', 5],
    ['wait=x, wait=6', undefined],
    ['await=5', undefined],
    ['handling=lenient;wait=5', undefined],
    ['"wait=5', undefined],
    [',,, wait=2 ,', 2],
    [`wait=5${' '.repeat(2_000)}`, undefined],
  ])('%j means %j seconds', (header, seconds) => {
    expect(preferredWait(header)).toBe(seconds);
  });

  it('is parsed in linear time', () => {
    const startMs = ranMs();
    for (const text of ['"\\', '"', '="', ' ', ',', 'wait=', ';"']) {
      for (const length of [999, 16_000]) preferredWait(text.repeat(length / text.length));
    }
    expect(ranMs() - startMs).toBeLessThan(MAX_HOSTILE_MS);
  });
});

describe('Cancel-After', () => {
  it.each<[string, number]>([
    ['5', 5_000],
    ['5s', 5_000],
    ['90', 90_000],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['24h', 86_400_000],
    ['1440m', 86_400_000],
    ['86400', 86_400_000],
    [' 10s ', 10_000],
  ])('%j is %i milliseconds', (header, ms) => {
    expect(cancelAfterMs({ 'cancel-after': header })).toBe(ms);
  });

  it.each(['', '4', '4s', '0', '-5', '25h', '86401', '1d', '1.5h', '5 m', '5M', '1h30m', '1e3', 'x', '5m, 6m', '٥m'])(
    '%j is refused with the name of the header',
    (header) => {
      expect(() => cancelAfterMs({ 'cancel-after': header })).toThrowError(
        expect.objectContaining({ code: 'invalid_request', fields: { 'Cancel-After': [expect.any(String)] } }),
      );
    },
  );

  it('sets no limit by default', () => {
    expect(cancelAfterMs({})).toBeUndefined();
  });
});
