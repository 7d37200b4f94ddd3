/** Figures that have to be asked for: at most every few seconds, one question at a time, never waited for long. */

export interface PeriodicQuery<T> {
  everyMs: number;
  /** How long a scrape waits for the answer. */
  deadlineMs: number;
  ask(): Promise<T>;
  show(answer: T): void;
  /** There is no answer: what is not known must be missing, neither zero nor old. */
  hide(): void;
}

/** To be called by every gauge that shows the answer, so that a scrape has them all of the same moment; never throws. */
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
