/**
 * Paid request (MONEY-1 to MONEY-3): hold, call, settle or release. Nothing is called before the most that it can cost
 * is held. The real cost is settled before the client is told. A process that dies in between leaves a hold, which
 * expires and frees the money. A bill above its hold, or after its end, is taken as far as funds and limits reach.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../../domain/caller.ts';
import { FareboxError } from '../../domain/errors.ts';
import {
  type ChargeState,
  type LedgerPrice,
  type Part,
  type PriceSnapshot,
  unpaidPart,
} from '../../domain/ledger.ts';
import { INSUFFICIENT, keyLimitReached } from '../../domain/refusals.ts';
import { point } from '../../infra/points.ts';
import { isUnavailable, unavailable } from '../../infra/postgres/failures.ts';
import { withdrawHold } from '../../infra/postgres/ledger.ts';
import { ledgerOverruns, ledgerOverrunUsd } from '../../infra/telemetry/counters.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RouteRequest } from '../http/route.ts';

export interface PaidCall {
  /** Of our own making, so that no client can name another's. */
  requestId: string;
  caller: Caller;
  /** The most that it can cost. */
  bound: LedgerPrice;
  snapshot: PriceSnapshot;
  /** Longer than the call can take, settling included. */
  ttlMs: number;
  /** Its log is created on first use; most calls never need one. */
  logOwner: LogOwner;
  /** From the deadline on its client is not billed. Left out: there is no such deadline. */
  request?: ExpiringRequest;
}

type LogOwner = Pick<RouteRequest<unknown, unknown, 'key'>, 'log'>;
export type ExpiringRequest = Pick<RouteRequest<unknown, unknown, 'key'>, 'expired' | 'beforeLoss'>;

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
  /**
   * May cost more than was held: a second operation takes the rest. Resolves when the bill is written. Throws FareboxError
   * `timed_out` after the deadline of the request: then nothing is billed, and what was billed is refunded before the client
   * is told. `within the hold`: not more than was held is taken; the rest is logged and counted.
   */
  settle(price: LedgerPrice, snapshot: Partial<PriceSnapshot>, most?: 'within the hold'): Promise<Settlement>;
  /** Nothing was delivered: all of it goes back. After a bill that stands nothing happens. */
  release(): Promise<void>;
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
  let bill: Bill | undefined;
  let billing: Promise<Settlement> | undefined;
  call.request?.beforeLoss(async () => {
    await billing?.catch(() => undefined);
    await point('late-bill');
    if (bill?.mayStand) await withdraw(purse.sql, call);
    await point('late-bill-withdrawn');
  });
  return {
    state: held.state,
    async settle(price, details, most) {
      if (call.request?.expired) throw tooLate();
      const taken = most === 'within the hold' ? lesser(price, bound) : price;
      const isCut = taken.usd < price.usd || taken.diem < price.diem;
      bill = {
        price,
        taken,
        details: isCut ? { ...details, upToHold: true } : details,
        until,
        mayStand: false,
      };
      billing = settle(purse, call, bill);
      return await billing;
    },
    async release() {
      // Also where it is not certain that the bill stands: the first of both decides.
      const isBilled = await billing?.then(
        () => true,
        () => false,
      );
      if (!isBilled) await insist(call, until, () => ledger.release({ operationId, accountId }));
    },
  };
}

/** The deadline passed: the client is not told so before its bill is undone, and cannot come back. */
async function withdraw(sql: Purse['sql'], call: PaidCall): Promise<void> {
  const { requestId: operationId, caller, ttlMs } = call;
  const withdrawal = { operationId, accountId: caller.accountId, reason: 'timed_out' };
  const { outcome } = await insist(call, performance.now() + ttlMs, () => withdrawHold(sql, withdrawal));
  if (outcome === 'refunded')
    call.logOwner.log.warn({ operationId }, 'a bill came too late and was refunded');
}

function lesser(left: LedgerPrice, right: LedgerPrice): LedgerPrice {
  return {
    usd: (left.usd < right.usd ? left : right).usd,
    diem: (left.diem < right.diem ? left : right).diem,
  };
}

interface Bill {
  price: LedgerPrice;
  /** Amount that is taken; less than the price only where no more than the hold may be taken. */
  taken: LedgerPrice;
  details: Partial<PriceSnapshot>;
  until: number;
  /** It was written, or may be: a statement was sent whose outcome is unknown. */
  mayStand: boolean;
}

async function settle(purse: Purse, call: PaidCall, bill: Bill): Promise<Settlement> {
  const { price, taken, details, until } = bill;
  const { accountId } = call.caller;
  const isLost = () => call.request?.expired === true;
  const isGivenUp = () => isLost() || performance.now() > until;
  const request = {
    operationId: call.requestId,
    accountId,
    price: taken,
    snapshot: details,
    ...(call.request && { isGivenUp }),
  };
  try {
    const settled = await insist({ logOwner: call.logOwner, isLost }, until, () =>
      writing(bill, () => purse.ledger.settle(request)),
    );
    if (settled.outcome === 'given_up') throw isLost() ? tooLate() : unavailable('the account stayed locked');
    if (settled.outcome === 'settled') {
      const isAbove = price.usd > call.bound.usd || price.diem > call.bound.diem;
      return isAbove
        ? noteOverrun(call, price, {
            cause: price === taken ? 'above_hold' : 'left_above_hold',
            parts: settled.parts,
          })
        : settlementOf(price, settled.parts);
    }
    if (isLost()) throw tooLate();
    const parts = await takeLateBill(purse, call, { bill, isLost });
    return noteOverrun(call, price, { cause: settled.outcome, parts });
  } catch (error) {
    if (!isLost()) noteOverrun(call, price, { cause: 'unwritten', parts: [] });
    throw error;
  }
}

/** Beyond the end of the hold: this bill needs no hold to be written. */
const LATE_BILL_MS = 30_000;

/** Charges a call whose hold expired before its bill came, or was ended by another process. */
async function takeLateBill(
  { ledger }: Purse,
  call: PaidCall,
  { bill, isLost }: { bill: Bill; isLost(): boolean },
): Promise<Part[]> {
  const { requestId: operationId, caller, snapshot } = call;
  const { accountId, keyId } = caller;
  const { taken: price, details } = bill;
  if (price.usd === 0n && price.diem === 0n) return [];
  const notes = `${details.notes ?? snapshot.notes ?? 'API Inference'}; billed after its hold had ended`;
  const described = { ...snapshot, ...details, notes, restOf: operationId };
  const rest = { operationId, accountId, keyId, price, snapshot: described };
  return await insist({ logOwner: call.logOwner, isLost }, performance.now() + LATE_BILL_MS, () =>
    writing(bill, () => ledger.takeRest(rest)),
  );
}

/** Notes on the bill whether it stands, or may stand. */
async function writing<T extends object>(bill: Bill, write: () => Promise<T>): Promise<T> {
  const mayStood = bill.mayStand;
  bill.mayStand = true;
  const written = await write();
  if ('outcome' in written && written.outcome !== 'settled') bill.mayStand = mayStood;
  return written;
}

/** Its client was told so when the deadline passed, and perhaps asks again: it does not pay for what came after. */
export function tooLate(internal?: string): FareboxError {
  const message = 'The request took too long.';
  return new FareboxError({ code: 'timed_out', message, ...(internal !== undefined && { internal }) });
}

function settlementOf(price: LedgerPrice, parts: Part[]): Settlement {
  const missing = unpaidPart(price, parts);
  return { parts, missing, cost: { usd: price.usd - missing.usd, diem: price.diem - missing.diem } };
}

const NANO = 1e9;

/** Nothing is cut in silence: who owed how much, what of it was taken, and why the hold did not pay it. */
function noteOverrun(
  { requestId, caller, bound, snapshot, logOwner }: PaidCall,
  price: LedgerPrice,
  { cause, parts }: { cause: string; parts: Part[] },
): Settlement {
  const settlement = settlementOf(price, parts);
  const { missing, cost } = settlement;
  // A price of a model that is sold for diem alone counts as so many US dollars.
  const usd = ({ usd, diem }: LedgerPrice) => Number(usd || diem) / NANO;
  ledgerOverruns.inc({ cause });
  // The count of a stream that was left may be an estimate: nobody owes what it is above the hold.
  if (cause === 'left_above_hold') {
    ledgerOverrunUsd.inc({ outcome: 'left' }, usd(missing));
  } else {
    ledgerOverrunUsd.inc({ outcome: 'missing' }, usd(missing));
    ledgerOverrunUsd.inc(
      { outcome: 'taken' },
      Math.max(usd(cost) - (cause === 'above_hold' ? usd(bound) : 0), 0),
    );
  }
  logOwner.log.warn(
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
  logOwner: LogOwner;
  /** Nobody is billed any more. */
  isLost?(): boolean;
}

/** Until it is written down, or the hold has expired and there is nothing left to write. */
async function insist<T>(
  { logOwner, isLost }: Insistence,
  until: number,
  write: () => Promise<T>,
): Promise<T> {
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      if (performance.now() + pauseMs > until || isLost?.()) throw error;
      logOwner.log.warn({ err: error }, 'a resolution could not be written yet');
      await sleep(pauseMs);
      if (isLost?.()) throw error;
    }
  }
}
