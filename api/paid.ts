/**
 * A paid request (design: hold, call, settle or release). Nothing is called before the most that it can cost is held; what
 * it did cost is settled before the client is told; a process that dies in between leaves a hold that expires in the
 * user's favour.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../domain/caller.ts';
import { FareboxError } from '../domain/errors.ts';
import type { ChargeState, LedgerPrice, Part, PriceSnapshot } from '../domain/ledger.ts';
import { INSUFFICIENT, keyLimitReached } from '../domain/refusals.ts';
import type { Logger } from '../infra/log.ts';
import type { Dependencies } from './dependencies.ts';

export interface PaidCall {
  /** Of our own making, so that no client can name another's. */
  requestId: string;
  caller: Caller;
  /** The most that it can cost. */
  bound: LedgerPrice;
  snapshot: PriceSnapshot;
  /** Longer than the call can take, settling included. */
  ttlMs: number;
  log: Logger;
}

export interface Hold {
  /** Other than `held` only when an earlier call with this id has resolved it already. */
  state: ChargeState;
  /** What it cost, at most the hold. Answers what was really taken. */
  settle(price: LedgerPrice, snapshot: Partial<PriceSnapshot>): Promise<Part[]>;
  /** Nothing was delivered: all of it goes back. */
  release(): Promise<void>;
}

type Purse = Pick<Dependencies, 'ledger'>;

/** Throws FareboxError `insufficient_balance` or `key_limit_exceeded`. */
export async function openHold({ ledger }: Purse, call: PaidCall): Promise<Hold> {
  const { requestId: operationId, caller, bound, snapshot, ttlMs } = call;
  const { accountId, keyId } = caller;
  const held = await ledger.hold({ operationId, accountId, keyId, price: bound, ttlMs, snapshot });
  if (held.outcome === 'insufficient') throw new FareboxError(INSUFFICIENT);
  if (held.outcome === 'key_limit') throw new FareboxError(keyLimitReached(held.currency));
  const until = performance.now() + ttlMs;
  return {
    state: held.state,
    async settle(price, details) {
      const outcome = await insist(call.log, until, () =>
        ledger.settle({ operationId, price, snapshot: details }),
      );
      return outcome.outcome === 'no_hold' ? [] : outcome.parts;
    },
    async release() {
      await insist(call.log, until, () => ledger.release({ operationId }));
    },
  };
}

const LONGEST_PAUSE_MS = 5_000;

/** Until it is written down, or the hold has expired and there is nothing left to write. */
async function insist<T>(log: Logger, until: number, write: () => Promise<T>): Promise<T> {
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      if (performance.now() + pauseMs > until) throw error;
      log.warn({ err: error }, 'a resolution could not be written yet');
      await sleep(pauseMs);
    }
  }
}
