/**
 * Records when keys were last used: collected in memory, written together, each key at most once a minute (bench
 * `front`).
 */
import { LRUCache } from 'lru-cache';
import type { DatabaseClock } from '../../infra/postgres/databaseClock.ts';

export interface KeyUse {
  touch(keyId: string): void;
  /** Writes the collected times; at most one write runs at a time. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const WRITE_EVERY_MS = 5_000;
const ONCE_PER_MS = 60_000;
const MAX_KEYS = 10_000;

export function createKeyUse(
  write: (uses: ReadonlyMap<string, Date>) => Promise<void>,
  clock: Pick<DatabaseClock, 'now'> = Date,
): KeyUse {
  const written = new LRUCache<string, number>({ max: MAX_KEYS });
  let waiting = new Map<string, Date>();
  let writing: Promise<void> = Promise.resolve();

  async function writeWaiting(): Promise<void> {
    if (waiting.size === 0) return;
    const uses = waiting;
    waiting = new Map();
    try {
      await write(uses);
      for (const [keyId, at] of uses) written.set(keyId, at.getTime());
    } catch {
      // A lost time does no harm: the next use is recorded again.
    }
  }

  const timer = setInterval(() => {
    writing = writing.then(writeWaiting);
  }, WRITE_EVERY_MS).unref();

  return {
    touch(keyId) {
      if (waiting.has(keyId) || waiting.size >= MAX_KEYS) return;
      const now = clock.now();
      const last = written.get(keyId);
      if (last === undefined || now - last >= ONCE_PER_MS) waiting.set(keyId, new Date(now));
    },
    flush() {
      writing = writing.then(writeWaiting);
      return writing;
    },
    async close() {
      clearInterval(timer);
      await this.flush();
    },
  };
}
