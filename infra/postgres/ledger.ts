/**
 * Money that moves in single statements: charge, refund, credit, and what an account has. Each is decided inside the
 * database (infra/postgres/functions/ledger/) and may be part of the caller's transaction; each is repeatable by its
 * operation id: the first outcome is returned again, marked `replayed`. A refusal is not recorded: it changed nothing, and
 * the same operation may succeed later.
 */
import type { ChargeState, LedgerPrice, Part, PriceSnapshot } from '../../domain/ledger.ts';
import { formatNano, type Nano } from '../../domain/money.ts';
import type { AuditAction } from './audit.ts';
import {
  type AdmitRow,
  admitArguments,
  checkHold,
  checkRequest,
  hasNoFunds,
  misuseError,
  storableJson,
  toParts,
} from './ledgerRows.ts';
import type { SqlClient } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

export type { LedgerPrice, Part, PriceSnapshot } from '../../domain/ledger.ts';

export interface Charge {
  /** 1 to 200 characters, unique for ever: the queue_id of a job, the request id of a request. */
  operationId: string;
  accountId: string;
  /** Null for callers without an API key. */
  keyId: string | null;
  price: LedgerPrice;
  snapshot: PriceSnapshot;
}

export type ChargeOutcome =
  /** `parts` in spending order; none when the price is zero. `chargeId` identifies the charge for a refund. */
  | { outcome: 'charged'; chargeId: string; parts: Part[]; replayed: boolean }
  | { outcome: 'insufficient' }
  /** The account could pay, but the key's limit in this currency does not allow it. */
  | { outcome: 'key_limit'; currency: 'usd' | 'diem' };

/**
 * Charges a price in one statement. Throws `conflict` when the operation id already names a hold or another account's
 * charge, `internal` for a key of another account, `unavailable` without a database.
 */
export async function charge(sql: SqlClient, request: Charge): Promise<ChargeOutcome> {
  checkRequest(request);
  const rows = await runLedgerStatement<AdmitRow>(sql, {
    name: 'ledger_charge',
    text: 'select * from ledger_admit(false, $1, $2, $3, $4, $5, $6, $7)',
    values: admitArguments([{ ...request, ttlMs: 0 }]),
  });
  const row = rows[0];
  if (row?.outcome === 'charged') {
    return { outcome: 'charged', chargeId: request.operationId, parts: toParts(row), replayed: row.replayed };
  }
  if (row && hasNoFunds(row)) return { outcome: 'insufficient' };
  if (row?.outcome === 'key_limit') return { outcome: 'key_limit', currency: row.limited ?? 'usd' };
  throw misuseError(row?.outcome, request.operationId);
}

export interface Refund {
  /** Id of the refund, derived from that of the charge so that a retry is the same refund. */
  operationId: string;
  chargeOperationId: string;
  /** For the record: shown with the entry. */
  reason: string;
  /** Partial refund; default: the whole charge. usd goes back first, then bundled credit, then diem. */
  amount?: LedgerPrice;
}

export type RefundOutcome =
  /** A second refund of the same charge returns the first one's id and parts. */
  | { outcome: 'refunded'; refundId: string; parts: Part[]; replayed: boolean }
  /** No charge under that id, or only a hold: release it instead. */
  | { outcome: 'no_charge' };

/**
 * Refunds a charge with the part beyond its hold, at most once and at most its amount, into the same currencies and the
 * charge's period.
 */
export async function refund(sql: SqlClient, request: Refund): Promise<RefundOutcome> {
  checkRequest({ operationId: request.operationId, ...(request.amount && { price: request.amount }) });
  const rows = await runLedgerStatement<RefundRow>(sql, {
    name: 'ledger_refund',
    text: 'select * from ledger_refund($1, $2, $3, $4, $5)',
    values: [
      request.operationId,
      request.chargeOperationId,
      request.reason,
      request.amount?.usd.toString() ?? null,
      request.amount?.diem.toString() ?? null,
    ],
  });
  return toRefundOutcome(rows[0], request.operationId);
}

export interface Withdrawal {
  /** The id of the hold. */
  operationId: string;
  accountId: string;
  /** For the record: shown with the refund. */
  reason: string;
}

/**
 * Releases a hold and refunds its bill, in one statement. A bill that was sent before and is written after it takes
 * nothing.
 */
export async function withdrawHold(sql: SqlClient, request: Withdrawal): Promise<RefundOutcome> {
  checkHold(request);
  const { operationId, accountId, reason } = request;
  const rows = await runLedgerStatement<RefundRow>(sql, {
    name: 'ledger_withdraw',
    text: 'select * from ledger_withdraw($1, $2, $3)',
    values: [operationId, accountId, reason],
  });
  return toRefundOutcome(rows[0], operationId);
}

type RefundRow = AdmitRow & { first_id: string };

function toRefundOutcome(row: RefundRow | undefined, operationId: string): RefundOutcome {
  if (row?.outcome === 'refunded') {
    return { outcome: 'refunded', refundId: row.first_id, parts: toParts(row), replayed: row.replayed };
  }
  if (row?.outcome === 'no_charge') return { outcome: 'no_charge' };
  throw misuseError(row?.outcome, operationId);
}

export interface Credit {
  /** Id of the payment or of the operator's act: credited once, however often it is repeated. */
  operationId: string;
  accountId: string;
  currency: 'usd' | 'bundled' | 'vcu';
  /** Above zero. */
  amount: Nano;
  /** Details for the record: actor, reason, payment. */
  notes: string;
  /** Note of an operator, for the audit trail only, which can be erased; default: `notes`. */
  note?: string;
}

/** Credit for a payment. */
export function topUp(sql: SqlClient, request: Credit): Promise<{ replayed: boolean }> {
  return credit(sql, 'top_up', request);
}

/** Credit without a payment. Diem is given by the account's daily allocation only. */
export function grant(sql: SqlClient, request: Credit): Promise<{ replayed: boolean }> {
  return credit(sql, 'grant', request);
}

export interface Adjustment extends Omit<Credit, 'currency'> {
  currency: Credit['currency'] | 'diem';
  /** Amount added to the balance; a negative one takes, but never held funds. */
  amount: Nano;
}

export type AdjustOutcome = { outcome: 'adjusted'; replayed: boolean } | { outcome: 'insufficient' };

/** Corrects a balance with a new transfer; diem means today's. */
export async function adjust(sql: SqlClient, request: Adjustment): Promise<AdjustOutcome> {
  const posted = await post(sql, 'adjustment', request);
  return posted.outcome === 'posted' ? { outcome: 'adjusted', replayed: posted.replayed } : { outcome: 'insufficient' };
}

export interface Balance {
  /** Spendable now, in nano units: posted less held. */
  usd: Nano;
  bundled: Nano;
  vcu: Nano;
  /** Today's (UTC): the whole allocation while the day is untouched. */
  diem: Nano;
  /** Allocation of today. */
  diemAllocation: Nano;
  held: { usd: Nano; bundled: Nano; diem: Nano };
}

/** Spendable funds of the account, in one read of two rows by key; undefined when there is no such account. */
export async function balanceOf(sql: SqlClient, accountId: string): Promise<Balance | undefined> {
  const rows = await runLedgerStatement<Record<string, string>>(sql, {
    name: 'ledger_balance',
    text: `select a.usd_posted - a.usd_held as usd, a.bundled_posted - a.bundled_held as bundled, a.vcu_posted as vcu,
        coalesce(d.posted - d.held, a.diem_daily_allocation) as diem,
        coalesce(d.allocation, a.diem_daily_allocation) as allocation,
        a.usd_held, a.bundled_held, coalesce(d.held, 0) as diem_held
      from accounts a
      left join diem_days d on d.account_id = a.id and d.day = (ledger_now() at time zone 'UTC')::date
      where a.id = $1`,
    values: [accountId],
  });
  const row = rows[0];
  if (!row) return undefined;
  const nano = (column: string) => BigInt(row[column] ?? '0');
  return {
    usd: nano('usd'),
    bundled: nano('bundled'),
    vcu: nano('vcu'),
    diem: nano('diem'),
    diemAllocation: nano('allocation'),
    held: { usd: nano('usd_held'), bundled: nano('bundled_held'), diem: nano('diem_held') },
  };
}

/** State of a charge or hold, and the amount taken (or, while held, reserved); undefined when there is none. */
export async function findCharge(
  sql: SqlClient,
  operationId: string,
): Promise<{ state: ChargeState; parts: Part[]; refundId: string | undefined } | undefined> {
  const rows = await runLedgerStatement<AdmitRow & { state: ChargeState; counterpart: string | null }>(sql, {
    name: 'ledger_find_charge',
    text: `select state, counterpart, coalesce(diem, held_diem) as part_diem,
        coalesce(bundled, held_bundled) as part_bundled, coalesce(usd, held_usd) as part_usd
      from operations where operation_id = $1 and kind = 'charge'`,
    values: [operationId],
  });
  const row = rows[0];
  return row && { state: row.state, parts: toParts(row), refundId: row.counterpart ?? undefined };
}

async function credit(sql: SqlClient, kind: 'top_up' | 'grant', request: Credit): Promise<{ replayed: boolean }> {
  if (request.amount <= 0n) throw new RangeError('credit must be above zero');
  const posted = await post(sql, kind, request);
  return { replayed: posted.replayed };
}

async function post(sql: SqlClient, kind: string, request: Adjustment): Promise<PostRow> {
  checkRequest(request);
  if (request.amount === 0n) throw new RangeError('an adjustment of zero is none');
  const rows = await runLedgerStatement<PostRow>(sql, {
    name: 'ledger_post',
    text: POST,
    values: [
      request.operationId,
      kind,
      request.accountId,
      request.currency,
      request.amount.toString(),
      storableJson({ notes: request.notes }),
      ...[ACTS[kind] ?? null, formatNano(request.amount), storableJson(request.note ?? request.notes)],
    ],
  });
  const row = rows[0];
  if (row?.outcome === 'posted' || row?.outcome === 'insufficient') return row;
  throw misuseError(row?.outcome, request.operationId);
}

const ACTS: Record<string, AuditAction> = { grant: 'credit.grant', adjustment: 'credit.adjust' };

/** A grant or correction is written to the audit trail in the same statement; a top-up has its payment. */
const POST = `with posted as materialized (select * from ledger_post($1, $2, $3, $4, $5, $6)), noted as (
    insert into audit_events (account_id, actor, action, target_id, changes)
    select $3, 'operator', $7, $1,
      jsonb_build_object('currency', $4::text, 'amount', $8::text, 'note', $9::jsonb)
    from posted where outcome = 'posted' and not replayed and $7::text is not null
  ) select * from posted`;

interface PostRow {
  outcome: string;
  replayed: boolean;
}
