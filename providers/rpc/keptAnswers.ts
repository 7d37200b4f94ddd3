/** Answers that can never change, kept for all processes under what was asked of which chain. */
import { createHash } from 'node:crypto';
import { isEverKept, type Keeping, keepingOf, mayBeKept } from '../../domain/rpc/finality.ts';
import { jsonBytes } from '../../domain/rpc/jsonBytes.ts';
import type { CallMethod, RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { resultOf, textOf } from './outcomes.ts';
import type { RpcFleet } from './rpcFleet.ts';
import type { RpcCache, RpcEvent } from './rpcTools.ts';
import type { RpcOutcome } from './rpcUpstreams.ts';

const LARGEST_KEPT = 256 * 1024;
const TTL_SECONDS = 24 * 3_600;

/** Where an answer is kept. */
interface Place {
  key: string;
  keeping: Keeping;
}

type Places = readonly (Place | undefined)[];

export interface KeptAnswers {
  /** For each call; undefined where no answer to any of them is ever kept. */
  placesOf(fleet: RpcFleet, calls: RpcCalls): Places | undefined;
  /** What is there. Never throws. */
  find(fleet: RpcFleet, places: Places): Promise<(RpcOutcome | undefined)[]>;
  /** Keeps what was answered and can never change; nobody waits for it. */
  keep(fleet: RpcFleet, place: Place | undefined, outcome: RpcOutcome): void;
}

export function createKeptAnswers(cache: RpcCache, observe: (event: RpcEvent) => void): KeptAnswers {
  return {
    placesOf,
    async find({ network }, places) {
      const asked = places.filter((place) => place !== undefined);
      const values = await cache.get(asked.map(({ key }) => key)).catch(() => []);
      let next = 0;
      let hits = 0;
      const found = places.map((place): RpcOutcome | undefined => {
        if (place === undefined) return undefined;
        const value = values[next];
        next += 1;
        if (value === undefined) return undefined;
        hits += 1;
        return resultOf(value, true);
      });
      if (hits > 0) observe({ kind: 'cache', network, outcome: 'hit', count: hits });
      if (hits < asked.length)
        observe({ kind: 'cache', network, outcome: 'miss', count: asked.length - hits });
      return found;
    },
    keep(fleet, place, outcome) {
      if (place === undefined || outcome.kind !== 'result' || outcome.cached) return;
      if (outcome.end - outcome.start > LARGEST_KEPT) return;
      const { keeping, key } = place;
      const value = textOf(outcome);
      const read: unknown =
        keeping.kind === 'member' || keeping.kind === 'status' ? JSON.parse(value) : nullOr(value);
      if (!mayBeKept(keeping, read, fleet.heights.finalized())) return;
      observe({ kind: 'cache', network: fleet.network, outcome: 'stored', count: 1 });
      cache.set(key, value, TTL_SECONDS).catch(() => undefined);
    },
  };
}

function placesOf(fleet: RpcFleet, calls: RpcCalls): Places | undefined {
  const chain = fleet.heights.chain();
  if (chain === undefined) return undefined;
  let places: (Place | undefined)[] | undefined;
  // Calls of a batch often have the same one.
  let method: CallMethod | undefined;
  let isKept = false;
  for (let index = 0; index < calls.length; index += 1) {
    if (method !== calls.method(index)) {
      method = calls.method(index);
      isKept = !method.isWrite && isEverKept(fleet.family, method.name);
    }
    if (!isKept || (fleet.family === 'evm' && asksForNow(calls, index))) continue;
    const place = placeOf(fleet, chain, { method: method.name, params: calls.params(index) });
    if (place === undefined) continue;
    places ??= new Array(calls.length).fill(undefined);
    places[index] = place;
  }
  return places;
}

/** What calls end with that ask for a block by what it is now. Most do, and nobody has to read them for that. */
const OF_NOW = ['"latest"]', '"pending"]', '"safe"]', '"finalized"]'].map((end) => jsonBytes(end));

function asksForNow(calls: RpcCalls, index: number): boolean {
  for (const end of OF_NOW) if (calls.paramsEndWith(index, end)) return true;
  return false;
}

/** If what is asked for is final by now. */
function placeOf(
  fleet: RpcFleet,
  chain: string,
  { method, params }: { method: string; params: string | undefined },
): Place | undefined {
  const keeping = keepingOf(fleet.family, method, params);
  if (keeping === undefined) return undefined;
  if (keeping.kind === 'height') {
    const finalized = fleet.heights.finalized();
    if (finalized === undefined || keeping.height > finalized) return undefined;
  }
  const asked = createHash('sha256')
    .update(`${chain}\n${method}\n${params ?? '[]'}`)
    .digest('base64url');
  return { keeping, key: `${fleet.network}:${asked}` };
}

/** All that counts of what is not read. */
function nullOr(value: string): null | true {
  return value === 'null' ? null : true;
}
