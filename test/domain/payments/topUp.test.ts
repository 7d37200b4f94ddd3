import { describe, expect, it, test } from 'vitest';
import { endOfWindowMs, pauseOfRefusedMs } from '../../../domain/payments/topUp.ts';

describe('the end of a payment\u2019s window', () => {
  it('is what its payer signed, or the life of a blockhash', () => {
    expect(endOfWindowMs({ validBefore: '1000', readAt: '1' })).toBe(1_000_000);
    expect(endOfWindowMs({ readAt: '1000' })).toBe(1_180_000);
  });
});

describe('the pause before a look at a refused payment', () => {
  test.each([
    [0, 300_000, 2_000],
    [1, 300_000, 4_000],
    [5, 300_000, 64_000],
    [9, 300_000, 301_000],
    [9, 5_000, 6_000],
    [20, 86_400_000, 3_600_000],
    [3, 0, 60_000],
    [3, -1, 60_000],
  ])('look %i with %i ms of its window left comes after %i ms', (look, leftMs, pauseMs) => {
    expect(pauseOfRefusedMs(look, leftMs)).toBe(pauseMs);
  });

  it('allows a dozen looks in the longest window', () => {
    let looks = 0;
    for (let leftMs = 3_600_000; leftMs > 0; looks += 1) leftMs -= pauseOfRefusedMs(looks, leftMs);
    expect(looks).toBeLessThanOrEqual(12);
  });
});
