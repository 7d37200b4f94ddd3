/** Answers that can never change, kept for all processes under what was asked of which chain. */
import { createHash } from 'node:crypto';
import { type Keeping, keepingOf, mayBeKept } from '../../domain/rpc/finality.ts';
import type { RpcFleet } from './rpcFleet.ts';
import type { RpcCache, RpcEvent } from './rpcTools.ts';
import type { RpcItem, RpcOutcome } from './rpcUpstreams.ts';

const LARGEST_KEPT = 256 * 1024;
const TTL_SECONDS = 24 * 3_600;

export interface KeptAnswers {
  /** An outcome for each item whose answer is kept; nothing at all where none ever is. Never throws. */
  find(fleet: RpcFleet, items: readonly RpcItem[]): Promise<Found[]>;
  /** Keeps what was answered and can never change; nobody waits for it. */
  keep(fleet: RpcFleet, found: Found | undefined, outcome: RpcOutcome): void;
}

export interface Found {
  outcome: RpcOutcome | undefined;
  /** Undefined: never kept. */
  keeping: Keeping | undefined;
  key: string;
}

const NOTHING: Found = { outcome: undefined, keeping: undefined, key: '' };

export function createKeptAnswers(cache: RpcCache, observe: (event: RpcEvent) => void): KeptAnswers {
  return {
    async find(fleet, items) {
      const chain = fleet.heights.chain();
      if (chain === undefined) return [];
      const asked: Found[] = [];
      const found = items.map((item) => {
        const place = placeOf(fleet, chain, item);
        if (place !== NOTHING) asked.push(place);
        return place;
      });
      if (asked.length === 0) return [];
      const kept = await cache.get(asked.map(({ key }) => key)).catch(() => []);
      let hits = 0;
      for (const [index, place] of asked.entries()) {
        const value = kept[index];
        if (value === undefined) continue;
        hits += 1;
        place.outcome = { kind: 'result', value, cached: true };
      }
      const { network } = fleet;
      if (hits > 0) observe({ kind: 'cache', network, outcome: 'hit', count: hits });
      if (hits < asked.length)
        observe({ kind: 'cache', network, outcome: 'miss', count: asked.length - hits });
      return found;
    },
    keep(fleet, found, outcome) {
      if (found?.keeping === undefined || outcome.kind !== 'result' || outcome.cached) return;
      const { value } = outcome;
      if (value.length > LARGEST_KEPT) return;
      const { keeping, key } = found;
      const read: unknown =
        keeping.kind === 'member' || keeping.kind === 'status' ? JSON.parse(value) : nullOr(value);
      if (!mayBeKept(keeping, read, fleet.heights.finalized())) return;
      observe({ kind: 'cache', network: fleet.network, outcome: 'stored', count: 1 });
      cache.set(key, value, TTL_SECONDS).catch(() => undefined);
    },
  };
}

/** Where it would be kept, if what it is asked for is final by now. */
function placeOf(fleet: RpcFleet, chain: string, { method, params, isWrite }: RpcItem): Found {
  const keeping = isWrite ? undefined : keepingOf(fleet.family, method, params);
  if (keeping === undefined) return NOTHING;
  if (keeping.kind === 'height') {
    const finalized = fleet.heights.finalized();
    if (finalized === undefined || keeping.height > finalized) return NOTHING;
  }
  const asked = createHash('sha256')
    .update(`${chain}\n${method}\n${params ?? '[]'}`)
    .digest('base64url');
  return { outcome: undefined, keeping, key: `${fleet.network}:${asked}` };
}

/** All that counts of what is not read. */
function nullOr(value: string): null | true {
  return value === 'null' ? null : true;
}
