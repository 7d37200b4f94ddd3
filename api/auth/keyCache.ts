/**
 * Cache of keys: a busy key costs one query in some seconds. Changes arrive at once (infra/postgres/keyChanges.ts). The
 * ages below bound the harm of a lost notification: 5 s while the channel seems to live, 1 s while it is known to be
 * down. Unknown keys are remembered for a second in a cache of their own, so that a flood of invented keys evicts no
 * real one. Bench `front`.
 */
import { LRUCache } from 'lru-cache';
import type { KeyChange } from '../../infra/postgres/keyChanges.ts';
import type { FoundKey } from '../../infra/postgres/keys.ts';

export interface KeyCacheOptions {
  /** Reads one key by the SHA-256 of its secret. */
  find(secretHash: Buffer): Promise<FoundKey | undefined>;
  /** Whether notifications of changes arrive at the moment. */
  listening(): boolean;
}

export interface KeyCache {
  /** Finds a key by the hex SHA-256 of its secret; synchronous for a cached key. */
  get(secretHash: string): FoundKey | undefined | Promise<FoundKey | undefined>;
  /** Whether this process has ever read a key with this hash. */
  has(secretHash: string): boolean;
  forget(change: KeyChange): void;
  clear(): void;
}

const FRESH_MS = 5_000;
const FRESH_WITHOUT_CHANGES_MS = 1_000;
const UNKNOWN_FRESH_MS = 1_000;
const MAX_KEYS = 10_000;

interface KeyEntry {
  key: FoundKey;
  readAt: number;
}

export function createKeyCache(options: KeyCacheOptions): KeyCache {
  const known = new LRUCache<string, KeyEntry>({ max: MAX_KEYS });
  const unknown = new LRUCache<string, number>({ max: MAX_KEYS });
  const asking = new Map<string, Promise<FoundKey | undefined>>();
  // Number of changes so far. A row that was requested before a change must not be cached after it.
  let changes = 0;

  async function ask(secretHash: string): Promise<FoundKey | undefined> {
    const readAt = performance.now();
    const changesBefore = changes;
    const key = await options.find(Buffer.from(secretHash, 'hex'));
    if (changesBefore === changes) {
      if (key) known.set(secretHash, { key, readAt });
      else unknown.set(secretHash, readAt);
    }
    return key;
  }

  return {
    get(secretHash) {
      const now = performance.now();
      const entry = known.get(secretHash);
      const freshMs = options.listening() ? FRESH_MS : FRESH_WITHOUT_CHANGES_MS;
      if (entry && now - entry.readAt < freshMs) return entry.key;
      const unknownSince = entry ? undefined : unknown.get(secretHash);
      if (unknownSince !== undefined && now - unknownSince < UNKNOWN_FRESH_MS) return undefined;
      const already = asking.get(secretHash);
      if (already) return already;
      const asked = ask(secretHash).finally(() => {
        if (asking.get(secretHash) === asked) asking.delete(secretHash);
      });
      asking.set(secretHash, asked);
      return asked;
    },
    has: (secretHash) => known.has(secretHash),
    forget(change) {
      changes += 1;
      asking.clear();
      if (change.kind === 'key') {
        known.delete(change.secretHash);
        return;
      }
      for (const [secretHash, { key }] of known) {
        if (key.accountId === change.accountId) known.delete(secretHash);
      }
    },
    clear() {
      changes += 1;
      asking.clear();
      known.clear();
      unknown.clear();
    },
  };
}
