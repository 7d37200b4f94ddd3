/**
 * A paid request (design: hold, call, settle or release). Nothing is called before the most that it can cost is held; what
 * it did cost is settled before the client is told; a process that dies in between leaves a hold that expires in the
 * user's favour. A bill above its hold, or after its end, is taken as far as funds and limits reach.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../domain/caller.ts';
import { FareboxError } from '../domain/errors.ts';
import {
  type ChargeState,
  type LedgerPrice,
  type Part,
  type PriceSnapshot,
  unpaidPart,
} from '../domain/ledger.ts';
import { INSUFFICIENT, keyLimitReached } from '../domain/refusals.ts';
import type { Logger } from '../infra/log.ts';
import { isUnavailable } from '../infra/postgres/failures.ts';
import { ledgerOverruns, ledgerOverrunUsd } from '../infra/telemetry/counters.ts';
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

export interface Settlement {
  /** Taken in all, from the hold and beyond it. */
  parts: Part[];
  /** The cost as the client is told: the price less what could not be taken. */
  cost: LedgerPrice;
  /** Not covered by the account's funds and the limits of its key. */
  missing: LedgerPrice;
}

export interface Hold {
  /** Other than `held` only when an earlier call with this id has resolved it already. */
  state: ChargeState;
  /** May cost more than was held: a second operation takes the rest. Resolves when the bill is written. */
  settle(price: LedgerPrice, snapshot: Partial<PriceSnapshot>): Promise<Settlement>;
  /** Nothing was delivered: all of it goes back. */
  release(): Promise<void>;
}

type Purse = Pick<Dependencies, 'ledger'>;

/** Throws FareboxError `insufficient_balance` or `key_limit_exceeded`. */
export async function openHold({ ledger }: Purse, call: PaidCall): Promise<Hold> {
  const { requestId: operationId, caller, bound, snapshot, ttlMs } = call;
  const { accountId, keyId } = caller;
  const held = await ledger
    .hold({ operationId, accountId, keyId, price: bound, ttlMs, snapshot })
    .catch((error: unknown) => {
      // Perhaps it is held, and nobody will ever resolve it.
      if (isUnavailable(error)) ledger.abandon({ operationId, accountId });
      throw error;
    });
  if (held.outcome === 'insufficient') throw new FareboxError(INSUFFICIENT);
  if (held.outcome === 'key_limit') throw new FareboxError(keyLimitReached(held.currency));
  const until = performance.now() + ttlMs;
  return {
    state: held.state,
    settle: (price, details) => settle({ ledger }, call, { price, details, until }),
    async release() {
      await insist(call, until, () => ledger.release({ operationId, accountId }));
    },
  };
}

interface Bill {
  price: LedgerPrice;
  details: Partial<PriceSnapshot>;
  until: number;
}

async function settle({ ledger }: Purse, call: PaidCall, bill: Bill): Promise<Settlement> {
  const { price, details } = bill;
  const operationId = call.requestId;
  try {
    const settled = await insist(call, bill.until, () =>
      ledger.settle({ operationId, accountId: call.caller.accountId, price, snapshot: details }),
    );
    if (settled.outcome === 'settled') {
      const isAbove = price.usd > call.bound.usd || price.diem > call.bound.diem;
      return isAbove
        ? noteOverrun(call, price, { cause: 'above_hold', parts: settled.parts })
        : settlementOf(price, settled.parts);
    }
    const parts = await takeLateBill({ ledger }, call, bill);
    return noteOverrun(call, price, { cause: settled.outcome, parts });
  } catch (error) {
    noteOverrun(call, price, { cause: 'unwritten', parts: [] });
    throw error;
  }
}

/** Beyond the end of the hold: this bill needs no hold to be written. */
const LATE_BILL_MS = 30_000;

/** Charges a call whose hold expired before its bill came, or was ended by another process. */
async function takeLateBill({ ledger }: Purse, call: PaidCall, { price, details }: Bill): Promise<Part[]> {
  const { requestId: operationId, caller, snapshot } = call;
  const { accountId, keyId } = caller;
  if (price.usd === 0n && price.diem === 0n) return [];
  const notes = `${details.notes ?? snapshot.notes ?? 'API Inference'}; billed after its hold had ended`;
  const described = { ...snapshot, ...details, notes, restOf: operationId };
  return await insist(call, performance.now() + LATE_BILL_MS, () =>
    ledger.takeRest({ operationId, accountId, keyId, price, snapshot: described }),
  );
}

function settlementOf(price: LedgerPrice, parts: Part[]): Settlement {
  const missing = unpaidPart(price, parts);
  return { parts, missing, cost: { usd: price.usd - missing.usd, diem: price.diem - missing.diem } };
}

const NANO = 1e9;

/** Nothing is cut in silence: who owed how much, what of it was taken, and why the hold did not pay it. */
function noteOverrun(
  { requestId, caller, bound, snapshot, log }: PaidCall,
  price: LedgerPrice,
  { cause, parts }: { cause: string; parts: Part[] },
): Settlement {
  const settlement = settlementOf(price, parts);
  const { missing, cost } = settlement;
  // A price of a model that is sold for diem alone counts as so many US dollars.
  const usd = ({ usd, diem }: LedgerPrice) => Number(usd || diem) / NANO;
  ledgerOverruns.inc({ cause });
  ledgerOverrunUsd.inc({ outcome: 'missing' }, usd(missing));
  ledgerOverrunUsd.inc(
    { outcome: 'taken' },
    Math.max(usd(cost) - (cause === 'above_hold' ? usd(bound) : 0), 0),
  );
  log.warn(
    {
      ...{ requestId, accountId: caller.accountId, model: snapshot.modelId, cause },
      ...{ heldUsd: usd(bound), billUsd: usd(price), missingUsd: usd(missing) },
    },
    'a bill was not covered by its hold',
  );
  return settlement;
}

const LONGEST_PAUSE_MS = 5_000;

/** Until it is written down, or the hold has expired and there is nothing left to write. */
async function insist<T>(call: Pick<PaidCall, 'log'>, until: number, write: () => Promise<T>): Promise<T> {
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      if (performance.now() + pauseMs > until) throw error;
      call.log.warn({ err: error }, 'a resolution could not be written yet');
      await sleep(pauseMs);
    }
  }
}
