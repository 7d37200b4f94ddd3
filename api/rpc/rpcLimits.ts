/** Limits of an account: requests per minute and credits per day, over all keys and processes (LIMIT-14). */
import { FareboxError } from '../../domain/errors.ts';
import { MINUTE_MS } from '../../domain/limits/limits.ts';
import type { Admission, Counter, LimitedCall } from '../../infra/redis/limiter.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, withHeaders } from '../http/answer.ts';
import { errorAnswer } from '../http/errors.ts';

type RpcLimitDependencies = Dependencies['limits']['calls'];

const PER_MINUTE = 100;
const STAFF_PER_MINUTE = 1_000;
const CREDITS_PER_DAY = 10_000_000;
const DAY_MS = 86_400_000;

/** Counts of a request. `credits`: 0 counts none. */
export interface RpcCount {
  request: boolean;
  credits: number;
}

export type RpcAdmission =
  | { refusal: Answer }
  | {
      refusal: undefined;
      /** Corrects the credits once to the actual cost; a stream is corrected when it begins. */
      correct(credits: number): Promise<void>;
    };

/** `ask`: sends it together with the other Redis commands of the call; default: by itself. */
export async function admitRpc(
  limits: RpcLimitDependencies,
  accountId: string,
  { ask = limits.limiter.admit, ...count }: RpcCount & { ask?: (call: LimitedCall) => Promise<Admission> },
): Promise<RpcAdmission> {
  const call = limitedCall(limits, accountId, count);
  const { counters } = call;
  if (counters.length === 0) return { refusal: undefined, correct: async () => undefined };
  const requests = counters.find(isOfRequests);
  const credits = counters.find((counter) => !isOfRequests(counter));
  // A cost above the limit of a day fits no window, but the request counts.
  if (credits && credits.limit < credits.cost) {
    const { refusal } = await admitRpc(limits, accountId, { ...count, ask, credits: 0 });
    return { refusal: refusal ?? refusalAnswer(credits, undefined) };
  }
  const admission = await ask(call);
  const { refusedBy, at } = admission;
  if (refusedBy) {
    const state = admission.states[counters.indexOf(refusedBy)];
    // A refused batch still counts as a request.
    if (refusedBy !== requests && requests) await admitRpc(limits, accountId, { ...count, ask, credits: 0 });
    return { refusal: refusalAnswer(refusedBy, state && { ...state, at }) };
  }
  return {
    refusal: undefined,
    async correct(used) {
      if (!credits || used === credits.cost) return;
      await limits.limiter.correct(accountId, credits, { count: used - credits.cost, at });
    },
  };
}

/** Window of requests of an account. */
export function rpcRequests(limits: RpcLimitDependencies, accountId: string): LimitedCall {
  return limitedCall(limits, accountId, { request: true, credits: 0 });
}

/**
 * Equal calls that wait for Redis at the same time are sent as one command, when they are the same object (bench
 * `rpc`).
 */
function limitedCall(limits: RpcLimitDependencies, accountId: string, count: RpcCount): LimitedCall {
  const override = limits.overrideOf(accountId);
  const usual = limits.tierOf(accountId) === 'staff' ? STAFF_PER_MINUTE : PER_MINUTE;
  const perMinute = override.rpcRequestsPerMinute ?? usual;
  const perDay = override.rpcCreditsPerDay ?? CREDITS_PER_DAY;
  const kind = `${accountId} ${count.request ? perMinute : 'none'} ${count.credits}/${perDay}`;
  const known = limits.kept.rpc.get(kind);
  if (known) return known;
  const requests: Counter = {
    ...{ type: 'RPM', subject: '/crypto/rpc', cost: 1, windowMs: MINUTE_MS },
    limit: perMinute,
  };
  const credits: Counter = {
    ...{ type: 'RPD', subject: '/crypto/rpc credits', cost: count.credits, windowMs: DAY_MS },
    limit: perDay,
  };
  const counters = [...(count.request ? [requests] : []), ...(count.credits > 0 ? [credits] : [])];
  const made = { accountId, counters };
  limits.kept.rpc.set(kind, made);
  return made;
}

function isOfRequests({ windowMs }: Counter): boolean {
  return windowMs === MINUTE_MS;
}

type ObservedState = Admission['states'][number] & { at: number };

/** Refusal, the only answer with these headers (LIMIT-14). `seen` is undefined for a cost above any window. */
function refusalAnswer(counter: Counter, seen: ObservedState | undefined): Answer {
  const { limit } = counter;
  const message = isOfRequests(counter)
    ? `Rate limit exceeded: at most ${limit} JSON-RPC requests per minute.`
    : `Credit limit exceeded: at most ${limit} JSON-RPC credits in 24 hours.`;
  const seconds = seen && Math.max(1, Math.ceil((seen.resetsAt - seen.at) / 1_000));
  const error = new FareboxError({
    ...{ code: 'rate_limited', message },
    ...(seconds !== undefined && { retryAfterSeconds: seconds }),
  });
  return withHeaders(errorAnswer(error), {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(Math.max(0, limit - (seen?.total ?? 0))),
    ...(seen && { 'X-RateLimit-Reset': String(Math.ceil(seen.resetsAt / 1_000)) }),
  });
}
