/** Progress with elapsed time: one rewritten line in a terminal, else a line at intervals. */
export interface Progress {
  /** Shows `text` while `work` runs, and its duration at the end. */
  during<T>(text: string, work: () => Promise<T>): Promise<T>;
  /** Writes one complete line. */
  say(text: string): void;
}

export interface ProgressOptions {
  write(text: string): void;
  isTerminal: boolean;
  /** Interval of progress lines outside of a terminal. */
  everyMs?: number;
}

const SECOND_MS = 1_000;

export function createProgress(options: ProgressOptions): Progress {
  const { write, isTerminal } = options;
  const everyMs = isTerminal ? SECOND_MS : (options.everyMs ?? 15 * SECOND_MS);
  const rewrite = (text: string) => write(isTerminal ? `\r\u001b[K${text}` : `${text}\n`);
  return {
    say: (text) => write(`${text}\n`),
    async during(text, work) {
      const startedAt = Date.now();
      const soFar = () => `${Math.round((Date.now() - startedAt) / SECOND_MS)} s`;
      rewrite(`${text} …`);
      const timer = setInterval(() => rewrite(`${text} … ${soFar()} so far`), everyMs);
      try {
        const result = await work();
        rewrite(`${text}: done in ${soFar()}`);
        return result;
      } catch (error) {
        rewrite(`${text}: failed after ${soFar()}`);
        throw error;
      } finally {
        clearInterval(timer);
        if (isTerminal) write('\n');
      }
    },
  };
}

/** Prints nothing, for tests. */
export const silentProgress: Progress = { say: () => undefined, during: (_text, work) => work() };
