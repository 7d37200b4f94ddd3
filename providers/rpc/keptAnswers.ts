/** Caches immutable answers for all processes, by chain and request (bench `rpc`). */
import { createHash } from 'node:crypto';
import { jsonBytes } from '../../domain/json/jsonBytes.ts';
import { type Finality, isEverKept, keepingOf, mayBeKept } from '../../domain/rpc/finality.ts';
import type { CallMethod, RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import type { RpcFleet } from './rpcFleet.ts';
import { type RpcCache, type RpcEvent, type RpcOutcome, resultOf, textOf } from './rpcUpstreams.ts';

const MAX_KEPT = 256 * 1024;
const TTL_SECONDS = 24 * 3_600;

/** Cache key of an answer and its finality rule. */
interface AnswerPlace {
  key: string;
  keeping: Finality;
}

type AnswerPlaces = readonly (AnswerPlace | undefined)[];

export class KeptAnswers {
  readonly #cache: RpcCache;
  readonly #observe: (event: RpcEvent) => void;

  constructor(cache: RpcCache, observe: (event: RpcEvent) => void) {
    this.#cache = cache;
    this.#observe = observe;
  }

  /** Asks only for calls that are not cached, and caches answers that are final. */
  async orAsk(fleet: RpcFleet, calls: RpcCalls, ask: (rest: RpcCalls) => Promise<RpcOutcome[]>): Promise<RpcOutcome[]> {
    const places = placesOf(fleet, calls);
    if (places === undefined) return await ask(calls);
    const outcomes = await this.#find(fleet, places);
    const open = outcomes.flatMap((outcome, index) => (outcome === undefined ? [index] : []));
    const answered = open.length === 0 ? [] : await ask(open.length === calls.length ? calls : calls.only(open));
    for (const [at, index] of open.entries()) {
      const outcome = answered[at] ?? fleet.noNode();
      outcomes[index] = outcome;
      this.#keep(fleet, places[index], outcome);
    }
    return outcomes as RpcOutcome[];
  }

  async #find({ network }: RpcFleet, places: AnswerPlaces): Promise<(RpcOutcome | undefined)[]> {
    const keys = places.flatMap((place) => place?.key ?? []);
    const values = await this.#cache.get(keys).catch(() => []);
    const left = values.values();
    const found = places.map((place) => {
      const value = place && left.next().value;
      return value === undefined ? undefined : resultOf(value, true);
    });
    const hits = found.filter((outcome) => outcome !== undefined).length;
    if (hits > 0) this.#observe({ kind: 'cache', network, outcome: 'hit', count: hits });
    const missed = keys.length - hits;
    if (missed > 0) this.#observe({ kind: 'cache', network, outcome: 'miss', count: missed });
    return found;
  }

  /** Not awaited by callers. */
  #keep({ network, heights }: RpcFleet, place: AnswerPlace | undefined, outcome: RpcOutcome): void {
    if (place === undefined || outcome.kind !== 'result' || outcome.cached) return;
    if (outcome.end - outcome.start > MAX_KEPT) return;
    const { keeping, key } = place;
    const value = textOf(outcome);
    // For unparsed answers only null matters.
    const isRead = keeping.kind === 'member' || keeping.kind === 'status';
    const read: unknown = isRead ? JSON.parse(value) : value === 'null' ? null : true;
    if (!mayBeKept(keeping, read, heights.finalized())) return;
    this.#observe({ kind: 'cache', network, outcome: 'stored', count: 1 });
    this.#cache.set(key, value, TTL_SECONDS).catch(() => undefined);
  }
}

/** One entry per call; undefined if no answer can be cached. */
function placesOf(fleet: RpcFleet, calls: RpcCalls): AnswerPlaces | undefined {
  const chain = fleet.heights.chain();
  if (chain === undefined) return undefined;
  let places: (AnswerPlace | undefined)[] | undefined;
  // Calls of a batch often have the same method.
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

/** Parameter endings that request a current block. Most calls have one, and need not be parsed. */
const OF_NOW = ['"latest"]', '"pending"]', '"safe"]', '"finalized"]'].map((end) => jsonBytes(end));

function asksForNow(calls: RpcCalls, index: number): boolean {
  for (const end of OF_NOW) if (calls.paramsEndWith(index, end)) return true;
  return false;
}

/** Returns the cache key if the requested block is final. */
function placeOf(
  fleet: RpcFleet,
  chain: string,
  { method, params }: { method: string; params: string | undefined },
): AnswerPlace | undefined {
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
