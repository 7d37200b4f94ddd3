/** The high-rate way: the holds and resolutions of the same tick go to the database as one statement. */
import type { ChargeState, LedgerPrice, Part, PriceSnapshot } from '../../domain/ledger.ts';
import { inSpan } from '../telemetry/spans.ts';
import { countLedgerBatch, ledgerSpan } from '../telemetry/watchLedger.ts';
import { type Batcher, createBatcher } from './batcher.ts';
import { type Lane, openLane } from './lane.ts';
import {
  type AdmitRow,
  admitArguments,
  arrayText,
  checkHold,
  checkRequest,
  hasNoFunds,
  misuse,
  type PartsRow,
  quoted,
  quotedJson,
  storableJson,
  toParts,
} from './ledgerRows.ts';
import type { Sql } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

export interface HoldRequest {
  /** 1 to 195 characters, unique for ever; the later charge has the same id, a charge beyond the hold `<id>:rest`. */
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
  /** The cost. What exceeds the hold is taken by a second operation in the same statement, as far as funds and limits reach. */
  price: LedgerPrice;
  /** What is known only now, e.g. the units: laid over the snapshot of the hold. */
  snapshot?: Partial<PriceSnapshot>;
}

/** A bill whose hold has ended without it. */
export interface RestRequest {
  /** The id of the hold. */
  operationId: string;
  accountId: string;
  keyId: string | null;
  price: LedgerPrice;
  snapshot: PriceSnapshot;
}

/**
 * The first resolution stands: settling a hold that was released or expired returns that, and takes nothing. `parts` are
 * those of the hold and of the operation that took the rest.
 */
export type ResolveOutcome =
  | { outcome: 'settled' | 'released' | 'expired'; parts: Part[]; replayed: boolean }
  | { outcome: 'no_hold' };

export interface LedgerOptions {
  /** Most calls in one statement; 256 by default. */
  maxBatch?: number;
  /**
   * Statements under way at once; by default 2 on the one connection of a pipelined pool, where the second follows the first,
   * and 1 of any other: there two would wait for the row of the same account. What comes meanwhile shares the next statement
   * and its commit.
   */
  maxInFlight?: number;
  /** Most calls waiting; 10,000 by default. Above it a call is refused as unavailable. */
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
  /** Takes as much of the price as funds and limits allow, once per hold; answers the parts taken. */
  takeRest(request: RestRequest): Promise<Part[]>;
  /** Ends when the calls under way have ended; the pool stays the caller's. */
  close(): Promise<void>;
}

interface Resolution {
  operationId: string;
  resolution: 'settled' | 'released';
  price: LedgerPrice;
  details: Partial<PriceSnapshot> | undefined;
}

type Call = { hold: HoldRequest } | { resolve: Resolution };
/** Of a resolution without `limited` and `state`. */
type Row = AdmitRow;

const NOTHING: LedgerPrice = { usd: 0n, diem: 0n };
const HOLDING = ledgerSpan('hold');
const RESOLVING = ledgerSpan('resolve');

export function createLedger(pool: Sql, options: LedgerOptions = {}): Ledger {
  const lane = openLane(pool);
  const calls = createBatcher<Call, Row>({
    maxInFlight: pool.options.pipeline ? 2 : 1,
    ...options,
    run: (batch) => runBatch(lane, batch),
  });
  return {
    async hold(request) {
      checkHold(request);
      const row = await inSpan(HOLDING, () => calls.call({ hold: request }));
      return toHoldOutcome(row, request.operationId);
    },
    settle: ({ operationId, price, snapshot }) =>
      resolve(calls, { operationId, price, resolution: 'settled', details: snapshot }),
    release: ({ operationId }) =>
      resolve(calls, { operationId, price: NOTHING, resolution: 'released', details: undefined }),
    takeRest: (request) => takeRest(pool, request),
    close: () => calls.close(),
  };
}

/** In the order of the calls. What is resolved is free again for what is held by the same statement. */
async function runBatch(lane: Lane, batch: Call[]): Promise<Row[]> {
  const holds: HoldRequest[] = [];
  const resolutions: Resolution[] = [];
  for (const call of batch) {
    if ('hold' in call) holds.push(call.hold);
    else resolutions.push(call.resolve);
  }
  const steps = [
    { operation: 'hold', size: holds.length },
    { operation: 'resolve', size: resolutions.length },
  ];
  const rows = await countLedgerBatch(steps, () => runStatement(lane, holds, resolutions));
  // One is under the other in the answer: resolutions first.
  let held = resolutions.length;
  let resolved = 0;
  return batch.map((call) => rows['hold' in call ? held++ : resolved++] as Row);
}

async function runStatement(lane: Lane, holds: HoldRequest[], resolutions: Resolution[]): Promise<Row[]> {
  if (resolutions.length === 0) return await query(lane, HOLD, admitArguments(holds));
  if (holds.length === 0) return await query(lane, RESOLVE, resolveArguments(resolutions));
  return await query(lane, BOTH, [...resolveArguments(resolutions), ...admitArguments(holds)]);
}

const PARTS = 'coalesce(part_diem, 0), coalesce(part_bundled, 0), coalesce(part_usd, 0)';
const ADMITTED = told(`outcome, coalesce(limited, ''), ${PARTS}, coalesce(state, ''), replayed`);
const RESOLVED = told(`outcome, '', ${PARTS}, '', replayed`);
const HOLD = {
  name: 'ledger_hold',
  text: `select ${ADMITTED} from ledger_hold($1, $2, $3, $4, $5, $6, $7)`,
};
const RESOLVE = {
  name: 'ledger_end_holds',
  text: `select ${RESOLVED} from ledger_end_holds($1, $2, $3, $4, $5)`,
};
const BOTH = {
  name: 'ledger_resolve_and_hold',
  text: `select ${ADMITTED} from ledger_resolve_and_hold($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
};

/**
 * A row as one text of words and numbers: Postgres describes the columns with each answer, and the library makes its parsers
 * of them each time.
 */
function told(columns: string): string {
  return `concat_ws(',', ${columns}) as told`;
}

async function query(
  lane: Lane,
  statement: { name: string; text: string },
  values: string[],
): Promise<Row[]> {
  return (await lane.query<{ told: string }>({ ...statement, values })).map(readRow);
}

function readRow({ told: text }: { told: string }): Row {
  const [outcome = '', limited, diem = '', bundled = '', usd = '', state, replayed] = text.split(',');
  return {
    outcome,
    limited: limited === 'usd' || limited === 'diem' ? limited : null,
    part_diem: diem,
    part_bundled: bundled,
    part_usd: usd,
    state: state || null,
    replayed: replayed === 't',
  };
}

function resolveArguments(requests: readonly Resolution[]): string[] {
  return [
    arrayText(requests, ({ operationId }) => quoted(operationId)),
    arrayText(requests, ({ resolution }) => resolution),
    arrayText(requests, ({ price }) => price.usd.toString()),
    arrayText(requests, ({ price }) => price.diem.toString()),
    arrayText(requests, ({ details }) => (details ? quotedJson(details) : 'NULL')),
  ];
}

async function resolve(calls: Batcher<Call, Row>, request: Resolution): Promise<ResolveOutcome> {
  checkRequest(request);
  const row = await inSpan(RESOLVING, () => calls.call({ resolve: request }));
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
    values: [
      operationId,
      accountId,
      keyId,
      price.usd.toString(),
      price.diem.toString(),
      storableJson(snapshot),
    ],
  });
  return rows[0] ? toParts(rows[0]) : [];
}

function toHoldOutcome(row: AdmitRow, operationId: string): HoldOutcome {
  if (row.outcome === 'held') {
    return { outcome: 'held', parts: toParts(row), state: row.state as ChargeState, replayed: row.replayed };
  }
  if (hasNoFunds(row)) return { outcome: 'insufficient' };
  if (row.outcome === 'key_limit') return { outcome: 'key_limit', currency: row.limited ?? 'usd' };
  throw misuse(row.outcome, operationId);
}
