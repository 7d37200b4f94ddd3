import type { Nano } from './money.ts';

export interface SpendableFunds {
  usd: Nano;
  bundled: Nano;
  /** Today's. */
  diem: Nano;
}

/** Remaining limits of a key in their period; undefined: no limit. */
export interface LimitRoom {
  usd: Nano | undefined;
  diem: Nano | undefined;
}

/**
 * Funds that a key can still spend: the least of its account's funds and the remaining limits of the key and its
 * parent. A USD limit includes bundled credit, which is spent first.
 */
export function spendableWithin(funds: SpendableFunds, rooms: readonly LimitRoom[]): SpendableFunds {
  const bundled = leastOf(
    funds.bundled,
    rooms.map(({ usd }) => usd),
  );
  const usd = leastOf(
    funds.usd,
    rooms.map((room) => (room.usd === undefined ? undefined : room.usd - bundled)),
  );
  const diem = leastOf(
    funds.diem,
    rooms.map((room) => room.diem),
  );
  return { usd, bundled, diem };
}

/** Never below zero: a limit may have been lowered below the amount spent. */
function leastOf(amount: Nano, rooms: readonly (Nano | undefined)[]): Nano {
  const least = rooms.reduce<Nano>((low, room) => (room !== undefined && room < low ? room : low), amount);
  return least > 0n ? least : 0n;
}
