export const SLOTS = 60;

export function slotMsOf(windowMs: number): number {
  return windowMs / SLOTS;
}

/**
 * Sliding window in little memory that never admits more than its limit in any span of its length. Counts are kept by
 * slots, a sixtieth of the window each; a slot expires only when all of it is too old. A burst is admitted up to
 * exactly the limit; room returns at most one slot late. The same rule runs inside Redis (infra/redis/limitScripts.ts),
 * for all processes.
 */
export class SlidingWindow {
  readonly #counts = new Map<number, number>();
  #total = 0;

  /** Everything that still counts at `nowMs`. */
  total(nowMs: number, windowMs: number): number {
    const oldestKept = Math.floor(nowMs / slotMsOf(windowMs)) - SLOTS;
    for (const [slot, count] of this.#counts) {
      if (slot >= oldestKept) break;
      this.#counts.delete(slot);
      this.#total -= count;
    }
    return this.#total;
  }

  /** `atMs`: time of admission; a correction goes to the same slot, and may be negative. */
  add(count: number, { atMs, nowMs, windowMs }: { atMs: number; nowMs: number; windowMs: number }): void {
    this.total(nowMs, windowMs);
    const slot = Math.floor(atMs / slotMsOf(windowMs));
    if (slot < Math.floor(nowMs / slotMsOf(windowMs)) - SLOTS) return;
    const before = this.#counts.get(slot) ?? 0;
    const after = Math.max(0, before + count);
    this.#counts.set(slot, after);
    this.#total += after - before;
  }

  /** Unix ms at which the oldest counted slot leaves; `nowMs` when nothing is counted. */
  resetsAt(nowMs: number, windowMs: number): number {
    this.total(nowMs, windowMs);
    const [oldest] = this.#counts.keys();
    return oldest === undefined ? nowMs : (oldest + SLOTS + 1) * slotMsOf(windowMs);
  }
}
