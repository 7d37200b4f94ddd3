/** Ledger for high rates: holds and resolutions of one tick are one statement. */
import type { ChargeState, LedgerPrice, Part, PriceSnapshot } from '../../domain/ledger.ts';
import { inSpan } from '../telemetry/spans.ts';
import { ledgerSpan } from '../telemetry/watchLedger.ts';
import { createAbandonedHolds } from './abandonedHolds.ts';
import { createLedgerCalls, type LedgerCalls, type LedgerOptions } from './ledgerCalls.ts';
import {
  type AdmitRow,
  checkHold,
  checkRequest,
  hasNoFunds,
  misuseError,
  type PartsRow,
  storableJson,
  toParts,
} from './ledgerRows.ts';
import type { Resolution } from './ledgerStatements.ts';
import type { Sql } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

export interface HoldRequest {
  /** 1 to 195 characters, unique for ever; the charge has the same id, a charge beyond the hold `<id>:rest`. */
  operationId: string;
  accountId: string;
  keyId: string | null;
  /** Highest possible cost. */
  price: LedgerPrice;
  /** Time after which maintenance releases the hold. */
  ttlMs: number;
  snapshot: PriceSnapshot;
}

export type HoldOutcome =
  /** `state` is other than `held` only when a replay finds the hold already resolved; `parts` are what was held. */
  | { outcome: 'held'; parts: Part[]; state: ChargeState; replayed: boolean }
  | { outcome: 'insufficient' }
  | { outcome: 'key_limit'; currency: 'usd' | 'diem' };

interface ReleaseRequest {
  operationId: string;
  /** Account of the hold; with it the call leaves the shared batches while that account's row is locked. */
  accountId?: string;
}

export interface SettleRequest extends ReleaseRequest {
  /** Cost. A second operation in the statement charges the part above the hold, as far as funds and limits allow. */
  price: LedgerPrice;
  /** Details that are known only now, e.g. the units: merged into the snapshot of the hold. */
  snapshot?: Partial<PriceSnapshot>;
  /** Whether the bill is given up: polled while the row of the account is locked. */
  isGivenUp?(): boolean;
}

/** Bill of a hold that has ended without it. */
interface RestRequest {
  /** The id of the hold. */
  operationId: string;
  accountId: string;
  keyId: string | null;
  price: LedgerPrice;
  snapshot: PriceSnapshot;
}

/**
 * The first resolution stands: settling a released or expired hold returns that and takes nothing. `parts` are those of
 * the hold and of the operation that took the rest.
 */
type ResolveOutcome =
  | { outcome: 'settled' | 'released' | 'expired'; parts: Part[]; replayed: boolean }
  | { outcome: 'no_hold' };

/** `given_up`: nothing was written, and nothing will be. */
type SettleOutcome = ResolveOutcome | { outcome: 'given_up'; parts: Part[]; replayed: boolean };

export interface Ledger {
  /**
   * Reserves a price. Throws `unavailable` when the outcome is unknown: repeat with the same operation id, or abandon it.
   */
  hold(request: HoldRequest): Promise<HoldOutcome>;
  /** Releases a hold of unknown outcome in the background; it must not be settled any more. */
  abandon(hold: Required<ReleaseRequest>): void;
  settle(request: SettleRequest): Promise<SettleOutcome>;
  release(request: ReleaseRequest): Promise<ResolveOutcome>;
  /** Takes as much of the price as funds and limits allow, once per hold; returns the parts taken. */
  takeRest(request: RestRequest): Promise<Part[]>;
  /** Resolves when the running calls have ended; the caller keeps the pool. */
  close(): Promise<void>;
}

const NOTHING: LedgerPrice = { usd: 0n, diem: 0n };
const HOLDING = ledgerSpan('hold');
const RESOLVING = ledgerSpan('resolve');

export function createLedger(pool: Sql, options: LedgerOptions = {}): Ledger {
  const calls = createLedgerCalls(pool, options);
  const release = ({ operationId, accountId }: ReleaseRequest) =>
    resolve(calls, { operationId, accountId, price: NOTHING, resolution: 'released', details: undefined });
  const abandoned = createAbandonedHolds(release);
  return {
    async hold(request) {
      checkHold(request);
      const row = await inSpan(HOLDING, () => calls.call({ hold: request }));
      return toHoldOutcome(row, request.operationId);
    },
    async settle({ operationId, accountId, price, snapshot, isGivenUp }) {
      const resolution = { operationId, accountId, price, resolution: 'settled', details: snapshot } as const;
      checkRequest(resolution);
      const row = await inSpan(RESOLVING, () => calls.call({ resolve: resolution }, isGivenUp));
      return row.outcome === 'given_up' ? { outcome: 'given_up', parts: [], replayed: false } : toResolveOutcome(row);
    },
    release,
    abandon: (hold) => abandoned.add(hold),
    takeRest: (request) => takeRest(pool, request),
    close() {
      abandoned.close();
      return calls.close();
    },
  };
}

async function resolve(calls: LedgerCalls, request: Resolution): Promise<ResolveOutcome> {
  checkRequest(request);
  return toResolveOutcome(await inSpan(RESOLVING, () => calls.call({ resolve: request })));
}

function toResolveOutcome(row: AdmitRow): ResolveOutcome {
  if (row.outcome === 'no_hold') return { outcome: 'no_hold' };
  return {
    outcome: row.outcome as 'settled' | 'released' | 'expired',
    parts: toParts(row),
    replayed: row.replayed,
  };
}

async function takeRest(pool: Sql, request: RestRequest): Promise<Part[]> {
  checkRequest(request);
  const { operationId, accountId, keyId, price, snapshot } = request;
  const rows = await runLedgerStatement<PartsRow & { replayed: boolean }>(pool, {
    name: 'ledger_take_rest',
    text: 'select * from ledger_take_rest($1, $2, $3, $4, $5, $6)',
    values: [operationId, accountId, keyId, price.usd.toString(), price.diem.toString(), storableJson(snapshot)],
  });
  return rows[0] ? toParts(rows[0]) : [];
}

function toHoldOutcome(row: AdmitRow, operationId: string): HoldOutcome {
  if (row.outcome === 'held') {
    return { outcome: 'held', parts: toParts(row), state: row.state as ChargeState, replayed: row.replayed };
  }
  if (hasNoFunds(row)) return { outcome: 'insufficient' };
  if (row.outcome === 'key_limit') return { outcome: 'key_limit', currency: row.limited ?? 'usd' };
  throw misuseError(row.outcome, operationId);
}
