import type { Nano } from './money.ts';

export interface SpendableFunds {
  usd: Nano;
  bundled: Nano;
  /** Today's. */
  diem: Nano;
}

/** What the limits of a key leave of its period; undefined: there is no limit. */
export interface LimitRoom {
  usd: Nano | undefined;
  diem: Nano | undefined;
}

/**
 * What a key can still spend: the least of its account's funds and of what its limits and its parent's leave. A limit in USD
 * counts bundled credit, too, which is spent first.
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

/** Never below zero: a limit may have been lowered below what was spent. */
function leastOf(amount: Nano, rooms: readonly (Nano | undefined)[]): Nano {
  const least = rooms.reduce<Nano>((low, room) => (room !== undefined && room < low ? room : low), amount);
  return least > 0n ? least : 0n;
}
