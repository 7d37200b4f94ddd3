/** The limit of a route that asks for no credential: so many calls a minute from one address. */
import { FareboxError } from '../domain/errors.ts';
import { MINUTE_MS } from '../domain/limits/limits.ts';
import { callerNetwork } from '../infra/http/callerNetwork.ts';
import type { Dependencies } from './dependencies.ts';

/** Throws FareboxError `rate_limited`. Such refusals are in nobody's log: they are no account's. */
export async function limitAddress(
  { limits }: Pick<Dependencies, 'limits'>,
  address: string,
  { path, perMinute }: { path: string; perMinute: number },
): Promise<void> {
  const counter = { type: 'RPM', subject: path, limit: perMinute, cost: 1, windowMs: MINUTE_MS } as const;
  const accountId = `address:${callerNetwork(address)}`;
  const { refusedBy, states, at } = await limits.limiter.admit({ accountId, counters: [counter] });
  if (!refusedBy) return;
  const resetsAt = states[0]?.resetsAt ?? at;
  throw new FareboxError({
    code: 'rate_limited',
    message: `Rate limit exceeded: at most ${perMinute} requests per minute from one address.`,
    retryAfterSeconds: Math.max(1, Math.ceil((resetsAt - at) / 1_000)),
  });
}
