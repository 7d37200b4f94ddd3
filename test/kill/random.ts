/** Seeded random numbers: the same seed gives the same draws. */
export interface Chance {
  /** In [0, 1). */
  next(): number;
  between(low: number, high: number): number;
  pick<T>(items: readonly T[]): T;
  shuffle<T>(items: readonly T[]): T[];
}

/** mulberry32: 32 bits of state, enough for the choices of a test. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const pick = <T>(items: readonly T[]): T => {
    const item = items[Math.floor(next() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  };
  return {
    next,
    pick,
    between: (low, high) => low + next() * (high - low),
    shuffle(items) {
      const rest = [...items];
      return items.flatMap(() => rest.splice(Math.floor(next() * rest.length), 1));
    },
  };
}
