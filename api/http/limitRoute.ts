/** Limits of a route beside those of models: calls a minute by account or address. */
import { FareboxError } from '../../domain/errors.ts';
import { MINUTE_MS } from '../../domain/limits/limits.ts';
import { callerNetwork } from '../../infra/http/callerNetwork.ts';
import type { LimitSettings } from '../limits/callLimits.ts';

export interface RouteLimit {
  accountId: string;
  path: string;
  perMinute: number;
  /** Text after "requests per minute" that says whose calls they are; empty for those of the account. */
  words: string;
}

/** Takes back the count of the call. */
export type UndoCount = () => Promise<void>;

/** Throws FareboxError `rate_limited`. The log of refusals, which is about models, has none of these. */
export async function limitRoute(limits: LimitSettings, limit: RouteLimit): Promise<UndoCount> {
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

/** Limits requests without a valid credential by address. `what`: which requests, where not all count. */
export async function limitAddress(
  limits: LimitSettings,
  address: string,
  { path, perMinute, what = '' }: { path: string; perMinute: number; what?: string },
): Promise<UndoCount> {
  const accountId = `address:${callerNetwork(address)}`;
  return await limitRoute(limits, { accountId, path, perMinute, words: `${what} from one address` });
}
