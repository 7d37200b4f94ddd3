import { expect, test } from 'vitest';
import { medianInterval } from '../../bench/statistics.ts';

/** Indexes, from 1, of the interval of the median with at least 95 % confidence, from tables of order statistics. */
const INTERVALS = [
  { count: 6, low: 1, median: 3.5, high: 6 },
  { count: 8, low: 1, median: 4.5, high: 8 },
  { count: 9, low: 2, median: 5, high: 8 },
  { count: 15, low: 4, median: 8, high: 12 },
  { count: 21, low: 6, median: 11, high: 16 },
  { count: 100, low: 40, median: 50.5, high: 61 },
];

test.each(INTERVALS)('puts the median of $count values between number $low and number $high', (expected) => {
  const { count, ...interval } = expected;
  const values = Array.from({ length: count }, (_, index) => count - index);
  expect(medianInterval(values)).toEqual(interval);
});

test('throws for five values, because no interval is certain enough', () => {
  expect(() => medianInterval([1, 2, 3, 4, 5])).toThrow('5 values have no interval of 95 %');
});
