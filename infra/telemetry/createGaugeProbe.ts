/** Gauges that need a query: at most one every few seconds, one at a time, with a deadline. */

export interface PeriodicQuery<T> {
  everyMs: number;
  /** Longest wait of a scrape. */
  deadlineMs: number;
  ask(): Promise<T>;
  show(answer: T): void;
  /** Called without an answer: an unknown value must be missing, neither zero nor old. */
  hide(): void;
}

/** Called by every gauge that shows the answer, so that a scrape has values of one moment. Never throws. */
export function createGaugeProbe<T>(question: PeriodicQuery<T>): () => Promise<void> {
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  function ask(): Promise<void> {
    askedAt = performance.now();
    return question
      .ask()
      .then(question.show)
      .catch(question.hide)
      .finally(() => {
        asking = undefined;
      });
  }

  return async function refresh() {
    if (asking === undefined && performance.now() - askedAt < question.everyMs) return;
    asking ??= ask();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        question.hide();
        resolve();
      }, question.deadlineMs);
    });
    await Promise.race([asking, late]);
    clearTimeout(timer);
  };
}
