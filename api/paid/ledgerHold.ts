/**
 * Hold of a paid request, which ends in a bill or a release. A bill above its hold, or after its end, is taken as far
 * as funds and limits reach. The hold of a process that dies expires and frees the money.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { FareboxError } from '../../domain/errors.ts';
import { type ChargeState, type LedgerPrice, type Part, type PriceSnapshot, unpaidPart } from '../../domain/ledger.ts';
import { INSUFFICIENT, keyLimitReached } from '../../domain/refusals.ts';
import { failpoint } from '../../infra/failpoints.ts';
import type { SettleRequest } from '../../infra/postgres/createLedger.ts';
import { isUnavailable, unavailable } from '../../infra/postgres/failures.ts';
import { withdrawHold } from '../../infra/postgres/ledger.ts';
import { ledgerOverruns, ledgerOverrunUsd } from '../../infra/telemetry/counters.ts';
import type { AccountDependencies, CoreDependencies } from '../dependencies.ts';
import type { RouteRequest } from '../http/route.ts';
import { deadlineError } from '../http/upstreamErrors.ts';

export interface LedgerClient {
  core: Pick<CoreDependencies, 'sql'>;
  accounts: Pick<AccountDependencies, 'ledger'>;
}
/** Its log is created on first use; most calls never need one. */
export type Buyer = Pick<RouteRequest<unknown, unknown, 'key'>, 'caller' | 'log' | 'expired' | 'beforeLoss'>;

export interface HoldTerms {
  /** Generated here, so that no client can name another's. */
  operationId: string;
  /** Id for a further charge, where the hold under `operationId` was released or has expired. */
  anotherId?: (() => Promise<string>) | undefined;
  /** The deadline does not undo the bill: the answer is kept for a repetition of the request. */
  keepsBill?: boolean;
  /** Highest possible cost. */
  bound: LedgerPrice;
  snapshot: PriceSnapshot;
  /** Longer than the work can take, including the settlement. */
  ttlMs: number;
}

interface Settlement {
  /** Parts taken in total, from the hold and beyond it. */
  parts: Part[];
  /** Cost as reported to the client: the price less what could not be taken. */
  cost: LedgerPrice;
  /** Part that the funds of the account and the limits of its key do not cover. */
  missing: LedgerPrice;
}

interface Bill {
  price: LedgerPrice;
  /** Amount that is taken; less than the price only where no more than the hold may be taken. */
  taken: LedgerPrice;
  details: Partial<PriceSnapshot>;
  /** The bill was written, or may be: a statement was sent whose outcome is unknown. */
  mayStand: boolean;
}

/** Time for writing a late bill, from its first attempt: it needs no hold. */
const LATE_BILL_MS = 30_000;
const MAX_PAUSE_MS = 5_000;
const NANO = 1e9;

/** Throws FareboxError `insufficient_balance` or `key_limit_exceeded`. */
export async function openHold(client: LedgerClient, request: Buyer, terms: HoldTerms): Promise<LedgerHold> {
  const { ledger } = client.accounts;
  const { operationId, anotherId, bound, snapshot, ttlMs } = terms;
  const { accountId, keyId } = request.caller;
  const held = await ledger
    .hold({ operationId, accountId, keyId, price: bound, ttlMs, snapshot })
    .catch((error: unknown) => {
      // The hold may exist, and no call will resolve it.
      if (isUnavailable(error)) ledger.abandon({ operationId, accountId });
      throw error;
    });
  if (held.outcome === 'insufficient') throw new FareboxError(INSUFFICIENT);
  if (held.outcome === 'key_limit') throw new FareboxError(keyLimitReached(held.currency));
  if (anotherId && held.state !== 'held' && held.state !== 'settled') {
    const another = { ...terms, operationId: await anotherId(), anotherId: undefined };
    return await openHold(client, request, another);
  }
  const hold = new LedgerHold(client, request, terms);
  hold.state = held.state;
  return hold;
}

/** A class: closures for its members make batches of RPC calls slower by a twentieth (bench `pairs`). */
export class LedgerHold {
  /** Other than `held` only when an earlier call with this id has resolved it already. */
  state: ChargeState = 'held';
  /** Set when the answer ends the hold while it is sent: `purchase` leaves it open. */
  isHandedOn = false;
  readonly #client: LedgerClient;
  readonly #request: Buyer;
  readonly #terms: HoldTerms;
  readonly #until: number;
  #bill: Bill | undefined = undefined;
  #billing: Promise<Settlement> | undefined = undefined;
  #isEnded = false;

  constructor(client: LedgerClient, request: Buyer, terms: HoldTerms) {
    this.#client = client;
    this.#request = request;
    this.#terms = terms;
    this.#until = performance.now() + terms.ttlMs;
    if (!terms.keepsBill) request.beforeLoss(() => this.#undo());
  }

  /** Neither a bill nor a release was written by this object. */
  get isOpen(): boolean {
    return !this.#isEnded;
  }

  /** The client got the deadline error: nothing is billed after it. */
  get #isTimedOut(): boolean {
    return !this.#terms.keepsBill && this.#request.expired;
  }

  /**
   * Writes the bill. A second operation takes what exceeds the hold. Resolves when the bill is written. Throws
   * FareboxError `timed_out` after the deadline of the request: then nothing is billed, and a bill is refunded before
   * the client gets the error. `within the hold`: takes no more than was held; the rest is logged and counted.
   */
  settle(price: LedgerPrice, details: Partial<PriceSnapshot>, most?: 'within the hold'): Promise<Settlement> {
    if (this.#isTimedOut) return Promise.reject(deadlineError());
    const taken = most === 'within the hold' ? lesser(price, this.#terms.bound) : price;
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

  /** Releases all of the hold, for work that was not delivered. After a bill that stands nothing happens. */
  async release(): Promise<void> {
    // Also when it is uncertain whether the bill stands: the first of the two to be written decides.
    await this.#billing?.catch(() => undefined);
    if (this.#isEnded) return;
    const { operationId } = this.#terms;
    const { accountId } = this.#request.caller;
    await this.#insist(this.#until, () => this.#client.accounts.ledger.release({ operationId, accountId }));
    this.#isEnded = true;
  }

  /** Undoes the bill after the deadline, before the client gets the error, so that it cannot come back. */
  async #undo(): Promise<void> {
    await this.#billing?.catch(() => undefined);
    await failpoint('late-bill');
    if (this.#bill?.mayStand) await this.#withdraw();
    await failpoint('late-bill-withdrawn');
  }

  async #withdraw(): Promise<void> {
    const { operationId, ttlMs } = this.#terms;
    const withdrawal = { operationId, accountId: this.#request.caller.accountId, reason: 'timed_out' };
    const { outcome } = await this.#insist(performance.now() + ttlMs, () =>
      withdrawHold(this.#client.core.sql, withdrawal),
    );
    if (outcome !== 'refunded') return;
    this.#request.log.warn({ operationId }, 'a bill came too late and was refunded');
  }

  async #write(bill: Bill): Promise<Settlement> {
    const { price, taken, details } = bill;
    const { operationId, bound, keepsBill } = this.#terms;
    const settle: SettleRequest = {
      operationId,
      accountId: this.#request.caller.accountId,
      price: taken,
      snapshot: details,
    };
    if (!keepsBill) settle.isGivenUp = () => this.#isTimedOut || performance.now() > this.#until;
    try {
      const settled = await this.#insist(this.#until, () => this.#settleOnce(bill, settle), 'a bill');
      if (settled.outcome === 'given_up') {
        throw this.#isTimedOut ? deadlineError() : unavailable('the account stayed locked');
      }
      if (settled.outcome === 'settled') {
        this.#isEnded = true;
        const isAbove = price.usd > bound.usd || price.diem > bound.diem;
        if (!isAbove) return settlementOf(price, settled.parts);
        const cause = price === taken ? 'above_hold' : 'left_above_hold';
        return this.#noteOverrun(price, { cause, parts: settled.parts });
      }
      if (this.#isTimedOut) throw deadlineError();
      const parts = await this.#takeLateBill(bill);
      this.#isEnded = true;
      return this.#noteOverrun(price, { cause: settled.outcome, parts });
    } catch (error) {
      if (!this.#isTimedOut) this.#noteOverrun(price, { cause: 'unwritten', parts: [] });
      throw error;
    }
  }

  async #settleOnce(bill: Bill, settle: SettleRequest) {
    const mayStood = bill.mayStand;
    bill.mayStand = true;
    const settled = await this.#client.accounts.ledger.settle(settle);
    if (settled.outcome !== 'settled') bill.mayStand = mayStood;
    return settled;
  }

  /** Charges a call whose hold expired before its bill came, or was ended by another process. */
  async #takeLateBill(bill: Bill): Promise<Part[]> {
    const { operationId, snapshot } = this.#terms;
    const { accountId, keyId } = this.#request.caller;
    const { taken: price, details } = bill;
    if (price.usd === 0n && price.diem === 0n) return [];
    const notes = `${details.notes ?? snapshot.notes ?? 'API Inference'}; billed after its hold had ended`;
    const described = { ...snapshot, ...details, notes, restOf: operationId };
    const rest = { operationId, accountId, keyId, price, snapshot: described };
    const write = () => {
      bill.mayStand = true;
      return this.#client.accounts.ledger.takeRest(rest);
    };
    return await this.#insist(performance.now() + LATE_BILL_MS, write, 'a bill');
  }

  /** Repeats until the write succeeds or the hold has expired. A bill that the client no longer owes is given up. */
  async #insist<T>(until: number, write: () => Promise<T>, what?: 'a bill'): Promise<T> {
    for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      try {
        return await write();
      } catch (error) {
        const isGivenUp = () => what === 'a bill' && this.#isTimedOut;
        if (performance.now() + pauseMs > until || isGivenUp()) throw error;
        this.#request.log.warn({ err: error }, 'a resolution could not be written yet');
        await sleep(pauseMs);
        if (isGivenUp()) throw error;
      }
    }
  }

  /** Logs and counts every bill that its hold did not cover: account, amounts and cause. */
  #noteOverrun(price: LedgerPrice, { cause, parts }: { cause: string; parts: Part[] }): Settlement {
    const { operationId: requestId, bound, snapshot } = this.#terms;
    const { caller, log } = this.#request;
    const settlement = settlementOf(price, parts);
    const { missing, cost } = settlement;
    // A price in diem alone counts as the same number of US dollars.
    const usd = ({ usd, diem }: LedgerPrice) => Number(usd || diem) / NANO;
    ledgerOverruns.inc({ cause });
    // The token count of an abandoned stream may be an estimate: what exceeds the hold is not owed.
    if (cause === 'left_above_hold') {
      ledgerOverrunUsd.inc({ outcome: 'left' }, usd(missing));
    } else {
      ledgerOverrunUsd.inc({ outcome: 'missing' }, usd(missing));
      ledgerOverrunUsd.inc({ outcome: 'taken' }, Math.max(usd(cost) - (cause === 'above_hold' ? usd(bound) : 0), 0));
    }
    log.warn(
      {
        ...{ requestId, accountId: caller.accountId, model: snapshot.modelId, cause },
        ...{ heldUsd: usd(bound), billUsd: usd(price), missingUsd: usd(missing) },
      },
      'a bill was not covered by its hold',
    );
    return settlement;
  }
}

function lesser(left: LedgerPrice, right: LedgerPrice): LedgerPrice {
  return {
    usd: (left.usd < right.usd ? left : right).usd,
    diem: (left.diem < right.diem ? left : right).diem,
  };
}

function settlementOf(price: LedgerPrice, parts: Part[]): Settlement {
  const missing = unpaidPart(price, parts);
  return { parts, missing, cost: { usd: price.usd - missing.usd, diem: price.diem - missing.diem } };
}
