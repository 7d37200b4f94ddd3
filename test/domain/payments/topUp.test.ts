import { describe, expect, it, test } from 'vitest';
import {
  canReopen,
  endOfWindowMs,
  FINAL_TOP_UP_STATES,
  isFinalTopUp,
  MAX_SETTLEMENTS,
  nanoOfUnits,
  pauseOfRefusedMs,
  type TopUpState,
  topUpPredecessors,
} from '../../../domain/payments/topUp.ts';

describe('the end of a payment\u2019s window', () => {
  it('is that of the signature, or the lifetime of a blockhash', () => {
    expect(endOfWindowMs({ validBefore: '1000', readAt: '1' })).toBe(1_000_000);
    expect(endOfWindowMs({ readAt: '1000' })).toBe(1_180_000);
  });
});

describe('the pause before a read of a refused payment', () => {
  test.each([
    [0, 300_000, 2_000],
    [1, 300_000, 4_000],
    [5, 300_000, 64_000],
    [9, 300_000, 301_000],
    [9, 5_000, 6_000],
    [20, 86_400_000, 3_600_000],
    [3, 0, 60_000],
    [3, -1, 60_000],
  ])('read %i with %i ms left comes after %i ms', (look, leftMs, pauseMs) => {
    expect(pauseOfRefusedMs(look, leftMs)).toBe(pauseMs);
  });

  it('allows a dozen reads in the longest window', () => {
    let looks = 0;
    for (let leftMs = 3_600_000; leftMs > 0; looks += 1) leftMs -= pauseOfRefusedMs(looks, leftMs);
    expect(looks).toBeLessThanOrEqual(12);
  });
});

const STATES: TopUpState[] = [
  ...(['recorded', 'settling', 'sent', 'unknown', 'refused'] as const),
  ...FINAL_TOP_UP_STATES,
];

describe('the states of a top-up', () => {
  const OPEN = ['recorded', 'settling', 'sent', 'unknown', 'refused'];

  it.each<[TopUpState, string[]]>([
    ['recorded', ['sent', 'unknown']],
    ['settling', ['recorded', 'refused']],
    ['sent', ['recorded', 'settling', 'unknown', 'refused']],
    ['unknown', ['settling']],
    ['refused', ['settling']],
    ['credited', OPEN],
    ['failed', OPEN],
    ['wrong', OPEN],
  ])('%s is entered from %j only', (to, from) => {
    expect(topUpPredecessors(to)).toEqual(from);
  });

  it('are final when no state follows them, and a final state is never left', () => {
    for (const state of STATES) {
      const isFinal = (FINAL_TOP_UP_STATES as readonly string[]).includes(state);
      expect([state, isFinalTopUp(state)]).toEqual([state, isFinal]);
      expect(STATES.some((to) => topUpPredecessors(to).includes(state))).toBe(!isFinal);
    }
  });

  it.each(STATES)('%s is settled again only after a drop, for a limited number of times', (state) => {
    const mayDrop = state === 'sent' || state === 'unknown';
    expect(canReopen({ state, settlements: 1 })).toBe(mayDrop);
    expect(canReopen({ state, settlements: MAX_SETTLEMENTS - 1 })).toBe(mayDrop);
    expect(canReopen({ state, settlements: MAX_SETTLEMENTS })).toBe(false);
  });
});

describe('the value of token units', () => {
  test.each([
    ['5000000', 6, 5_000_000_000n],
    ['1', 6, 1_000n],
    ['1', 9, 1n],
    ['7', 0, 7_000_000_000n],
    ['0', 6, 0n],
    ['115792089237316195423570985008687907853', 9, 115792089237316195423570985008687907853n],
  ])('%s units with %i decimals are %d nano units', (units, decimals, nano) => {
    expect(nanoOfUnits(units, decimals)).toBe(nano);
  });

  test.each([10, 18, -1, 6.5, Number.NaN])('refuses a token of %d decimals', (decimals) => {
    expect(() => nanoOfUnits('1', decimals)).toThrow(RangeError);
  });
});
