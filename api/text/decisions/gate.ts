/** Lets a few in at once; the others wait in their order. */
export class Gate {
  readonly #most: number;
  #inside = 0;
  readonly #waiting: (() => void)[] = [];
  #emptied: (() => void) | undefined = undefined;

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside < this.#most) this.#inside += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#leave();
    }
  }

  /** Resolves when nobody is inside. */
  async empty(): Promise<void> {
    if (this.#inside === 0) return;
    await new Promise<void>((resolve) => {
      this.#emptied = resolve;
    });
  }

  #leave(): void {
    this.#inside -= 1;
    if (this.#inside === 0) this.#emptied?.();
  }
}
