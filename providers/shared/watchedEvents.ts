export interface StreamEnds {
  done(): void;
  /** The reader left before the end. */
  stopped(): void;
  failed(error: unknown): void;
}

/** Passes a stream on and reports once how it ended. */
export class WatchedEvents<T> implements AsyncIterableIterator<T, undefined> {
  private readonly events: AsyncIterator<T>;
  private ends: StreamEnds | undefined;

  constructor(events: AsyncIterable<T>, ends: StreamEnds) {
    this.events = events[Symbol.asyncIterator]();
    this.ends = ends;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    try {
      const step = await this.events.next();
      if (step.done !== true) return step;
      this.over()?.done();
      return { done: true, value: undefined };
    } catch (error) {
      this.over()?.failed(error);
      throw error;
    }
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.over()?.stopped();
    await this.events.return?.();
    return { done: true, value: undefined };
  }

  private over(): StreamEnds | undefined {
    const { ends } = this;
    this.ends = undefined;
    return ends;
  }
}
