/** How long a node took lately: the times of its last answers, and when to lose patience. */

const KEPT = 128;
/** With fewer nothing is known. */
const LEAST = 20;
/** The order is found anew after so many more. */
const EVERY = 16;
const QUICKEST_HEDGE_MS = 20;

class Recent {
  private readonly times: number[] = [];
  private next = 0;
  private sinceSorted = EVERY;
  private p95: number | undefined;

  add(ms: number): void {
    this.times[this.next] = ms;
    this.next = (this.next + 1) % KEPT;
    this.sinceSorted += 1;
  }

  late(): number | undefined {
    if (this.times.length < LEAST) return undefined;
    if (this.sinceSorted >= EVERY) {
      const sorted = [...this.times].sort((left, right) => left - right);
      this.p95 = sorted[Math.floor(sorted.length * 0.95)];
      this.sinceSorted = 0;
    }
    return this.p95;
  }
}

export class Latencies {
  private readonly single = new Recent();
  private readonly several = new Recent();

  add(items: number, ms: number): void {
    this.of(items).add(ms);
  }

  /** After so long another node is asked as well; undefined while too little is known. */
  hedgeAfterMs(items: number): number | undefined {
    const late = this.of(items).late();
    return late === undefined ? undefined : Math.max(QUICKEST_HEDGE_MS, late);
  }

  private of(items: number): Recent {
    return items === 1 ? this.single : this.several;
  }
}
