import type { CallContext } from './provider.ts';

/** Well below the time after which a silent worker counts as dead. */
const HEARTBEAT_MS = 2_000;

/** Says regularly that this worker lives while it waits for a foreign service. */
export async function withHeartbeat<T>(context: CallContext, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
