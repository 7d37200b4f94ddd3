import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SLOTS, SlidingWindow, slotMsOf } from '../../../domain/limits/slidingWindow.ts';

const MINUTE = 60_000;
const SLOT = slotMsOf(MINUTE);

function addAt(window: SlidingWindow, nowMs: number, count = 1): void {
  window.add(count, { atMs: nowMs, nowMs, windowMs: MINUTE });
}

describe('a sliding window', () => {
  it('is empty at first, and its reset is now', () => {
    const window = new SlidingWindow();
    expect(window.total(5_000, MINUTE)).toBe(0);
    expect(window.resetsAt(5_000, MINUTE)).toBe(5_000);
  });

  it('counts a burst exactly until its last call is older than the window', () => {
    const window = new SlidingWindow();
    for (let call = 0; call < 25; call += 1) addAt(window, 10_400 + call);
    expect(window.total(10_500, MINUTE)).toBe(25);
    expect(window.total(10_400 + MINUTE, MINUTE)).toBe(25);
    const resetsAt = window.resetsAt(10_500, MINUTE);
    expect(window.total(resetsAt - 1, MINUTE)).toBe(25);
    expect(window.total(resetsAt, MINUTE)).toBe(0);
    expect(resetsAt).toBeLessThanOrEqual(10_400 + MINUTE + SLOT);
  });

  it('forgets the oldest slot first', () => {
    const window = new SlidingWindow();
    addAt(window, 0, 3);
    addAt(window, 10 * SLOT, 4);
    const reset = window.resetsAt(10 * SLOT, MINUTE);
    expect(reset).toBe((SLOTS + 1) * SLOT);
    expect(window.total(reset, MINUTE)).toBe(4);
    expect(window.resetsAt(reset, MINUTE)).toBe((SLOTS + 11) * SLOT);
    expect(window.total((SLOTS + 11) * SLOT, MINUTE)).toBe(0);
  });

  it('applies a correction to the slot of the admission', () => {
    const window = new SlidingWindow();
    addAt(window, 1_000, 500);
    window.add(-300, { atMs: 1_000, nowMs: 20_000, windowMs: MINUTE });
    window.add(50, { atMs: 1_000, nowMs: 30_000, windowMs: MINUTE });
    expect(window.total(30_000, MINUTE)).toBe(250);
    expect(window.total(1_000 + MINUTE + SLOT, MINUTE)).toBe(0);
  });

  it.each([
    ['never takes more than was counted', 1_000, 2_000],
    ['counts for nothing when its slot is forgotten', 1_000, 1_000 + MINUTE + SLOT],
  ])('a correction %s', (_what, atMs, nowMs) => {
    const window = new SlidingWindow();
    addAt(window, atMs, 5);
    window.add(-9, { atMs, nowMs, windowMs: MINUTE });
    expect(window.total(nowMs, MINUTE)).toBe(0);
    addAt(window, nowMs, 2);
    expect(window.total(nowMs, MINUTE)).toBe(2);
  });

  it('never admits more than its limit in any span of its length', () => {
    const LIMIT = 10;
    const pauses = fc.array(fc.integer({ min: 0, max: 4_000 }), { minLength: 20, maxLength: 200 });
    fc.assert(
      fc.property(pauses, (steps) => {
        const window = new SlidingWindow();
        const admitted: number[] = [];
        let nowMs = 123_456;
        for (const step of steps) {
          nowMs += step;
          if (window.total(nowMs, MINUTE) >= LIMIT) continue;
          addAt(window, nowMs);
          admitted.push(nowMs);
        }
        for (const [index, at] of admitted.entries()) {
          const within = admitted.slice(index).filter((other) => other - at < MINUTE).length;
          expect(within).toBeLessThanOrEqual(LIMIT);
        }
      }),
    );
  });

  it('admits a caller again at most one slot after its oldest call expired', () => {
    const window = new SlidingWindow();
    for (let call = 0; call < 10; call += 1) addAt(window, call * 1_000 + 999);
    for (let call = 0; call < 10; call += 1) {
      const left = call * 1_000 + 999 + MINUTE;
      expect(window.total(left + SLOT, MINUTE)).toBeLessThanOrEqual(9 - call);
    }
  });
});
