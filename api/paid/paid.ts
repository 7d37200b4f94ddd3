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
import type { SettleRequest } from '../../infra/postgres/createLedger.ts';
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

interface Settlement {
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
type Settled = Awaited<ReturnType<Purse['ledger']['settle']>>;

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
  return new LedgerHold(purse, call, held.state);
}

/** A class: closures for its members cost batches of calls of chain nodes a twentieth (docs/performance.md). */
class LedgerHold implements Hold {
  readonly state: ChargeState;
  readonly #purse: Purse;
  readonly #call: PaidCall;
  readonly #until: number;
  #bill: Bill | undefined = undefined;
  #billing: Promise<Settlement> | undefined = undefined;

  constructor(purse: Purse, call: PaidCall, state: ChargeState) {
    this.state = state;
    this.#purse = purse;
    this.#call = call;
    this.#until = performance.now() + call.ttlMs;
    call.request?.beforeLoss(() => this.#undo());
  }

  get logOwner(): LogOwner {
    return this.#call.logOwner;
  }

  /** The client was told that it is not billed any more. */
  isLost(): boolean {
    return this.#call.request?.expired === true;
  }

  settle(price: LedgerPrice, details: Partial<PriceSnapshot>, most?: 'within the hold'): Promise<Settlement> {
    if (this.isLost()) return Promise.reject(tooLate());
    const taken = most === 'within the hold' ? lesser(price, this.#call.bound) : price;
    const isCut = taken.usd < price.usd || taken.diem < price.diem;
    this.#bill = {
      price,
      taken,
      details: isCut ? { ...details, upToHold: true } : details,
      mayStand: false,
    };
    this.#billing = this.#write(this.#bill);
    return this.#billing;
  }

  async release(): Promise<void> {
    // Also where it is not certain that the bill stands: whichever of the two is written first decides.
    const isBilled = await this.#billing?.then(
      () => true,
      () => false,
    );
    if (isBilled) return;
    const { requestId: operationId, caller, logOwner } = this.#call;
    const { accountId } = caller;
    await insist({ logOwner }, this.#until, () => this.#purse.ledger.release({ operationId, accountId }));
  }

  /** The deadline passed: the bill is undone before the client is told so, and cannot come back. */
  async #undo(): Promise<void> {
    await this.#billing?.catch(() => undefined);
    await point('late-bill');
    if (this.#bill?.mayStand) await withdraw(this.#purse.sql, this.#call);
    await point('late-bill-withdrawn');
  }

  async #write(bill: Bill): Promise<Settlement> {
    const { price, taken, details } = bill;
    const { requestId: operationId, caller, bound, request } = this.#call;
    const settle: SettleRequest = {
      operationId,
      accountId: caller.accountId,
      price: taken,
      snapshot: details,
    };
    if (request) settle.isGivenUp = () => this.isLost() || performance.now() > this.#until;
    try {
      const settled = await insist(this, this.#until, () => this.#settleOnce(bill, settle));
      if (settled.outcome === 'given_up') {
        throw this.isLost() ? tooLate() : unavailable('the account stayed locked');
      }
      if (settled.outcome === 'settled') {
        const isAbove = price.usd > bound.usd || price.diem > bound.diem;
        if (!isAbove) return settlementOf(price, settled.parts);
        const cause = price === taken ? 'above_hold' : 'left_above_hold';
        return noteOverrun(this.#call, price, { cause, parts: settled.parts });
      }
      if (this.isLost()) throw tooLate();
      const parts = await this.#takeLateBill(bill);
      return noteOverrun(this.#call, price, { cause: settled.outcome, parts });
    } catch (error) {
      if (!this.isLost()) noteOverrun(this.#call, price, { cause: 'unwritten', parts: [] });
      throw error;
    }
  }

  async #settleOnce(bill: Bill, settle: SettleRequest): Promise<Settled> {
    const mayStood = bill.mayStand;
    bill.mayStand = true;
    const settled = await this.#purse.ledger.settle(settle);
    if (settled.outcome !== 'settled') bill.mayStand = mayStood;
    return settled;
  }

  /** Charges a call whose hold expired before its bill came, or was ended by another process. */
  async #takeLateBill(bill: Bill): Promise<Part[]> {
    const { requestId: operationId, caller, snapshot } = this.#call;
    const { accountId, keyId } = caller;
    const { taken: price, details } = bill;
    if (price.usd === 0n && price.diem === 0n) return [];
    const notes = `${details.notes ?? snapshot.notes ?? 'API Inference'}; billed after its hold had ended`;
    const described = { ...snapshot, ...details, notes, restOf: operationId };
    const rest = { operationId, accountId, keyId, price, snapshot: described };
    return await insist(this, performance.now() + LATE_BILL_MS, () => {
      bill.mayStand = true;
      return this.#purse.ledger.takeRest(rest);
    });
  }
}

/** Undoes a bill before its client is told that the answer is lost. */
async function withdraw(sql: Purse['sql'], call: PaidCall): Promise<void> {
  const { requestId: operationId, caller, ttlMs, logOwner } = call;
  const withdrawal = { operationId, accountId: caller.accountId, reason: 'timed_out' };
  const { outcome } = await insist({ logOwner }, performance.now() + ttlMs, () =>
    withdrawHold(sql, withdrawal),
  );
  if (outcome === 'refunded') logOwner.log.warn({ operationId }, 'a bill came too late and was refunded');
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
  /** It was written, or may be: a statement was sent whose outcome is unknown. */
  mayStand: boolean;
}

/** Beyond the end of the hold: this bill needs no hold to be written. */
const LATE_BILL_MS = 30_000;

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
async function insist<T>(insistence: Insistence, until: number, write: () => Promise<T>): Promise<T> {
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      if (performance.now() + pauseMs > until || insistence.isLost?.()) throw error;
      insistence.logOwner.log.warn({ err: error }, 'a resolution could not be written yet');
      await sleep(pauseMs);
      if (insistence.isLost?.()) throw error;
    }
  }
}
