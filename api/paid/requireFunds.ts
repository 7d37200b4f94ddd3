/** Checks funds before the body of a request is read, and decides who passes without funds. */
import type { IncomingHttpHeaders } from 'node:http';
import { type Caller, keyScopeOf } from '../../domain/caller.ts';
import type { Model } from '../../domain/catalogue/model.ts';
import type { FareboxError } from '../../domain/errors.ts';
import { smallestPricesOf } from '../../domain/smallestPrices.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Route } from '../http/route.ts';
import { isDryRun } from './dryRun.ts';

export interface UnfundedCall {
  route: Route;
  caller: Caller;
  headers: IncomingHttpHeaders;
}

/** Reason why a caller without funds is served. */
export interface FundsExemption {
  by: 'dry run' | 'replay' | 'free model';
  /** Error for the caller where the call would cost something, or cause work. */
  lack: FareboxError;
}

/**
 * Undefined at once for callers that are known to have funds. Throws FareboxError `insufficient_balance` or
 * `key_limit_exceeded` for a caller that can pay nothing of what the route sells.
 */
export function requireFunds(
  dependencies: Pick<Dependencies, 'core' | 'accounts'>,
  call: UnfundedCall,
): Promise<FundsExemption | undefined> | undefined {
  const { fundsGate } = dependencies.accounts;
  const { paid, hasFree } = fundsGate.smallestPrices(call.route);
  const checked = fundsGate.refusalOf(call.caller, paid);
  return checked?.then(async (lack) => {
    if (!lack) return undefined;
    const by = await freePassOf(dependencies, call, hasFree);
    if (by === undefined) throw lack;
    return { by, lack };
  });
}

async function freePassOf(
  { core: { sql }, accounts: { fundsGate } }: Pick<Dependencies, 'core' | 'accounts'>,
  { route, caller, headers }: UnfundedCall,
  hasFree: boolean,
): Promise<FundsExemption['by'] | undefined> {
  // Wallets are free to create: one that never paid has nothing to repeat, and no price to ask for.
  if (caller.keyId === null && (await fundsGate.standing(caller)).account === 'none') return undefined;
  if (isDryRun({ headers })) return route.pricesMedia ? undefined : 'dry run';
  const key = headers['idempotency-key'];
  const name = { accountId: caller.accountId, visibleTo: keyScopeOf(caller) };
  if (typeof key === 'string' && (await route.isReplay?.(sql, { ...name, key }))) return 'replay';
  return hasFree ? 'free model' : undefined;
}

/** Throws for a model with a price, which a caller without funds must not use. */
export function requireFreeModel({ by, lack }: FundsExemption, model: Model | undefined): void {
  if (by === 'free model' && model && !smallestPricesOf([model]).hasFree) throw lack;
}
