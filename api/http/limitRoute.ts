/** Limits of a route beside those of models: so many calls a minute by one account, or from one address. */
import { FareboxError } from '../../domain/errors.ts';
import { MINUTE_MS } from '../../domain/limits/limits.ts';
import { callerNetwork } from '../../infra/http/callerNetwork.ts';
import type { LimitSettings } from '../limits/callLimits.ts';

export interface RouteLimit {
  accountId: string;
  path: string;
  perMinute: number;
  /** Whose calls they are, after "requests per minute"; empty for those of the account. */
  words: string;
}

/** Takes the call out of the count again. */
export type Uncount = () => Promise<void>;

/** Throws FareboxError `rate_limited`. Such refusals are in nobody's log: that is of models. */
export async function limitRoute(limits: LimitSettings, limit: RouteLimit): Promise<Uncount> {
  const { accountId, path, perMinute, words } = limit;
  const counter = { type: 'RPM', subject: path, limit: perMinute, cost: 1, windowMs: MINUTE_MS } as const;
  const { refusedBy, states, at } = await limits.limiter.admit({ accountId, counters: [counter] });
  if (!refusedBy) return () => limits.limiter.correct(accountId, counter, { count: -1, at });
  const resetsAt = states[0]?.resetsAt ?? at;
  throw new FareboxError({
    code: 'rate_limited',
    message: `Rate limit exceeded: at most ${perMinute} requests per minute${words}.`,
    retryAfterSeconds: Math.max(1, Math.ceil((resetsAt - at) / 1_000)),
  });
}

/** Of those who showed no credential that is worth something. `what`: which requests, where not all of them count. */
export async function limitAddress(
  limits: LimitSettings,
  address: string,
  { path, perMinute, what = '' }: { path: string; perMinute: number; what?: string },
): Promise<Uncount> {
  const accountId = `address:${callerNetwork(address)}`;
  return await limitRoute(limits, { accountId, path, perMinute, words: `${what} from one address` });
}
