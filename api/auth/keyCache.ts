/**
 * What is known about keys, so that a busy key costs one lookup in some seconds. A change is heard at once
 * (infra/postgres/keyChanges.ts); the ages below only bound what a silent loss of that channel can do: 5 s while it is
 * thought to live, 1 s while it is known to be down. Unknown keys are remembered for a second, apart from the known ones,
 * so that a flood of invented keys pushes none of those out. Bench `front`.
 */
import { LRUCache } from 'lru-cache';
import type { KeyChange } from '../../infra/postgres/keyChanges.ts';
import type { FoundKey } from '../../infra/postgres/keys.ts';

export interface KeyCacheOptions {
  /** Reads one key by the SHA-256 of its secret. */
  find(secretHash: Buffer): Promise<FoundKey | undefined>;
  /** Whether changes are heard at the moment. */
  listening(): boolean;
}

export interface KeyCache {
  /** By the hex SHA-256 of the secret; answers at once when it is known. */
  get(secretHash: string): FoundKey | undefined | Promise<FoundKey | undefined>;
  /** Whether a key has this hash for all that this process knows, however long ago it was read. */
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
  // Counts changes: an answer that was asked for before a change must not be kept after it.
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
