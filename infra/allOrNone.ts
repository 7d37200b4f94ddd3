/**
 * Runs all `works` at once. The first failure aborts the signal of the others and is thrown when all have ended, so that
 * nothing goes on for a result that nobody gets.
 */
export async function allOrNone<T>(
  signal: AbortSignal,
  works: readonly ((signal: AbortSignal) => Promise<T>)[],
): Promise<T[]> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const running = works.map((work) =>
    work(either).catch((error: unknown) => {
      failed.abort();
      throw error;
    }),
  );
  try {
    return await Promise.all(running);
  } finally {
    await Promise.allSettled(running);
  }
}
