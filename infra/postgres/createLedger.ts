/** The high-rate way: holds and resolutions of the same tick go to the database as one statement each. */
import type { ChargeState, LedgerPrice, Part, PriceSnapshot } from '../../domain/ledger.ts';
import { inSpan } from '../telemetry/spans.ts';
import { countLedger, ledgerSpan } from '../telemetry/watchLedger.ts';
import { type Batcher, type BatcherOptions, createBatcher } from './batcher.ts';
import {
  type AdmitRow,
  admitArguments,
  checkRequest,
  misuse,
  type PartsRow,
  storableJson,
  toParts,
} from './ledgerRows.ts';
import type { Sql } from './pool.ts';

export interface HoldRequest {
  /** 1 to 200 characters, unique for ever; the later charge has the same id. */
  operationId: string;
  accountId: string;
  keyId: string | null;
  /** The most that it can cost. */
  price: LedgerPrice;
  /** After it the sweeper gives the hold back. */
  ttlMs: number;
  snapshot: PriceSnapshot;
}

export type HoldOutcome =
  /** `state` is other than `held` only when a replay finds the hold already resolved; `parts` are what was held. */
  | { outcome: 'held'; parts: Part[]; state: ChargeState; replayed: boolean }
  | { outcome: 'insufficient' }
  | { outcome: 'key_limit'; currency: 'usd' | 'diem' };

export interface SettleRequest {
  operationId: string;
  /** What it really cost; more than the hold takes the hold. */
  price: LedgerPrice;
  /** What is known only now, e.g. the units: laid over the snapshot of the hold. */
  snapshot?: Partial<PriceSnapshot>;
}

/** The first resolution stands: settling a hold that was released or expired returns that, and takes nothing. */
export type ResolveOutcome =
  | { outcome: 'settled' | 'released' | 'expired'; parts: Part[]; replayed: boolean }
  | { outcome: 'no_hold' };

export interface LedgerOptions {
  /** Told after every batch: what it did, how many calls it carried, how long it took. */
  onBatch?: (batch: { kind: 'hold' | 'resolve'; size: number; latencyMs: number }) => void;
  /** Most calls in one statement; 256 by default. */
  maxBatch?: number;
  /** Statements of each kind under way at once; 2 by default. The pool needs room for both kinds. */
  maxInFlight?: number;
  /** Most calls of each kind waiting; 10,000 by default. Above it a call is refused as unavailable. */
  maxWaiting?: number;
  /** Longest a call may take; 10 s by default. */
  deadlineMs?: number;
}

export interface Ledger {
  /**
   * Reserves a price. Throws `unavailable` when the outcome is unknown: repeat with the same operation id, or leave it:
   * a hold that nobody resolves ends by its expiry.
   */
  hold(request: HoldRequest): Promise<HoldOutcome>;
  settle(request: SettleRequest): Promise<ResolveOutcome>;
  release(request: { operationId: string }): Promise<ResolveOutcome>;
  /** Ends when the calls under way have ended; the pool stays the caller's. */
  close(): Promise<void>;
}

interface Resolution {
  operationId: string;
  resolution: 'settled' | 'released';
  price: LedgerPrice;
  details: Partial<PriceSnapshot> | undefined;
}

const NOTHING: LedgerPrice = { usd: 0n, diem: 0n };

export function createLedger(pool: Sql, options: LedgerOptions = {}): Ledger {
  const holds = createBatcher<HoldRequest, AdmitRow>({
    run: (requests) =>
      countLedger({ operation: 'hold', size: requests.length }, () => admitHolds(pool, requests)),
    ...limitsOf(options, 'hold'),
  });
  const resolutions = createBatcher<Resolution, PartsRow & ResolveRow>({
    run: (requests) =>
      countLedger({ operation: 'resolve', size: requests.length }, () => resolveHolds(pool, requests)),
    ...limitsOf(options, 'resolve'),
  });
  return {
    async hold(request) {
      checkRequest(request);
      return toHoldOutcome(await inSpan(ledgerSpan('hold'), () => holds.call(request)), request.operationId);
    },
    settle: ({ operationId, price, snapshot }) =>
      resolve(resolutions, { operationId, price, resolution: 'settled', details: snapshot }),
    release: ({ operationId }) =>
      resolve(resolutions, { operationId, price: NOTHING, resolution: 'released', details: undefined }),
    async close() {
      await Promise.all([holds.close(), resolutions.close()]);
    },
  };
}

interface ResolveRow {
  outcome: 'settled' | 'released' | 'expired' | 'no_hold';
  replayed: boolean;
}

async function admitHolds(pool: Sql, requests: HoldRequest[]): Promise<AdmitRow[]> {
  const { rows } = await pool.query<AdmitRow>({
    name: 'ledger_hold',
    text: 'select * from ledger_admit(true, $1, $2, $3, $4, $5, $6, $7)',
    values: admitArguments(requests),
  });
  return rows;
}

async function resolveHolds(pool: Sql, requests: Resolution[]): Promise<(PartsRow & ResolveRow)[]> {
  const { rows } = await pool.query<PartsRow & ResolveRow>({
    name: 'ledger_resolve',
    text: 'select * from ledger_resolve($1, $2, $3, $4, $5)',
    values: [
      requests.map((request) => request.operationId),
      requests.map((request) => request.resolution),
      requests.map((request) => request.price.usd.toString()),
      requests.map((request) => request.price.diem.toString()),
      requests.map((request) => (request.details ? storableJson(request.details) : null)),
    ],
  });
  return rows;
}

async function resolve(
  batcher: Batcher<Resolution, PartsRow & ResolveRow>,
  request: Resolution,
): Promise<ResolveOutcome> {
  checkRequest(request);
  const row = await inSpan(ledgerSpan('resolve'), () => batcher.call(request));
  if (row.outcome === 'no_hold') return { outcome: 'no_hold' };
  return { outcome: row.outcome, parts: toParts(row), replayed: row.replayed };
}

function toHoldOutcome(row: AdmitRow, operationId: string): HoldOutcome {
  if (row.outcome === 'held') {
    return { outcome: 'held', parts: toParts(row), state: row.state as ChargeState, replayed: row.replayed };
  }
  if (row.outcome === 'insufficient') return { outcome: 'insufficient' };
  if (row.outcome === 'key_limit') return { outcome: 'key_limit', currency: row.limited ?? 'usd' };
  throw misuse(row.outcome, operationId);
}

function limitsOf(
  options: LedgerOptions,
  kind: 'hold' | 'resolve',
): Omit<BatcherOptions<never, never>, 'run'> {
  const { onBatch, maxBatch, maxInFlight, maxWaiting, deadlineMs } = options;
  return {
    onBatch: onBatch && ((batch) => onBatch({ kind, ...batch })),
    ...(maxBatch === undefined ? {} : { maxBatch }),
    ...(maxInFlight === undefined ? {} : { maxInFlight }),
    ...(maxWaiting === undefined ? {} : { maxWaiting }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  };
}
