/** A body that comes too slowly is cut: a sender may not hold a slot for ever with a byte a second. */

const GRACE_MS = 5_000;
const MIN_BYTES_PER_SECOND = 10_000;

/** Passes the chunks on; throws when the average since the start falls below the minimum after the grace time. */
export async function* paced(body: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  const startedAt = performance.now();
  let received = 0;
  for await (const chunk of body) {
    signal.throwIfAborted();
    received += chunk.length;
    const elapsedMs = performance.now() - startedAt;
    if (elapsedMs > GRACE_MS && received < (elapsedMs / 1_000) * MIN_BYTES_PER_SECOND) {
      throw new Error('body too slow');
    }
    yield chunk;
  }
}
