/** Waits for work that goes on without this caller: rejects with the signal's reason as soon as it is aborted. */
export async function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // What it ends with after the caller has gone concerns nobody.
  work.catch(() => undefined);
  signal.throwIfAborted();
  return await new Promise<T>((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
