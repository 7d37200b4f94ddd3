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
import { refund } from '../infra/postgres/ledger.ts';
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
  /** From the deadline on its client knows the answer for lost, and is not billed. Left out: there is no such deadline. */
  request?: { readonly expired: boolean };
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
  /** Nothing was delivered: all of it goes back. After a bill that stands nothing happens. */
  release(): Promise<void>;
  /** The deadline passed after the bill, and before the answer: the bill goes back. */
  withdraw(): Promise<void>;
}

type Purse = Pick<Dependencies, 'ledger' | 'sql'>;

/** Throws FareboxError `insufficient_balance` or `key_limit_exceeded`. */
export async function openHold(purse: Purse, call: PaidCall): Promise<Hold> {
  const { ledger } = purse;
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
  let isBilled = false;
  const giveBack = async () => {
    const released = await insist(call, until, () => ledger.release({ operationId, accountId }));
    // A settlement whose reply was lost may stand.
    const isCharged = isBilled || released.outcome === 'settled';
    if (call.request?.expired && isCharged) await refundBill(purse, call);
  };
  return {
    state: held.state,
    async settle(price, details) {
      const settlement = await settle(purse, call, { price, details, until });
      isBilled = true;
      return settlement;
    },
    async release() {
      if (!isBilled) await giveBack();
    },
    withdraw: giveBack,
  };
}

/** Of an answer that its client knows for lost. Both charges of a bill above its hold are given back. */
async function refundBill({ sql }: Purse, call: PaidCall): Promise<void> {
  const { requestId, ttlMs, log } = call;
  const until = performance.now() + ttlMs;
  for (const chargeOperationId of [requestId, `${requestId}:rest`]) {
    const operationId = `refund:${chargeOperationId}`;
    const refunded = await insist(call, until, () =>
      refund(sql, { operationId, chargeOperationId, reason: 'timed_out' }),
    );
    if (refunded.outcome === 'refunded')
      log.warn({ chargeOperationId }, 'a bill came too late and was refunded');
  }
}

interface Bill {
  price: LedgerPrice;
  details: Partial<PriceSnapshot>;
  until: number;
}

async function settle(purse: Purse, call: PaidCall, bill: Bill): Promise<Settlement> {
  const { price, details } = bill;
  const { ledger } = purse;
  const operationId = call.requestId;
  const isLost = () => call.request?.expired === true;
  try {
    const settled = await insist({ ...call, isLost }, bill.until, () =>
      ledger.settle({ operationId, accountId: call.caller.accountId, price, snapshot: details }),
    );
    if (settled.outcome === 'settled') {
      const isAbove = price.usd > call.bound.usd || price.diem > call.bound.diem;
      return isAbove
        ? noteOverrun(call, price, { cause: 'above_hold', parts: settled.parts })
        : settlementOf(price, settled.parts);
    }
    const parts = await takeLateBill(purse, call, bill);
    return noteOverrun(call, price, { cause: settled.outcome, parts });
  } catch (error) {
    if (!isLost()) noteOverrun(call, price, { cause: 'unwritten', parts: [] });
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

interface Insistence {
  log: Logger;
  /** Nobody is billed any more. */
  isLost?(): boolean;
}

/** Until it is written down, or the hold has expired and there is nothing left to write. */
async function insist<T>({ log, isLost }: Insistence, until: number, write: () => Promise<T>): Promise<T> {
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      if (performance.now() + pauseMs > until || isLost?.()) throw error;
      log.warn({ err: error }, 'a resolution could not be written yet');
      await sleep(pauseMs);
    }
  }
}
