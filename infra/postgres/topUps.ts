/**
 * Rows of top-ups: one per payment, written before its settlement. Each statement is an idempotent step. The credit is
 * one transaction with the ledger, made exactly once by the ledger's own key.
 */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Nano } from '../../domain/money.ts';
import type { SignedPayment } from '../../domain/payments/signedPayment.ts';
import {
  FINAL_TOP_UP_STATES,
  type FinalTopUpState,
  MAX_SETTLEMENTS,
  nanoOfUnits,
  type TopUpState,
  topUpPredecessors,
} from '../../domain/payments/topUp.ts';
import { type Wallet, walletName, walletNamed } from '../../domain/wallets.ts';
import { failpoint } from '../failpoints.ts';
import { topUp } from './ledger.ts';
import { inTransaction, type SqlClient } from './pool.ts';
import { openWalletAccount, walletAccountId } from './walletAccounts.ts';

export interface TopUpRow {
  /** `x402-` and 32 hex digits; also the workflow's id and the ledger's operation id. */
  paymentId: string;
  network: string;
  payer: Wallet;
  accountId: string;
  terms: string;
  state: TopUpState;
  /** Settlements begun. */
  settlements: number;
  /** Undefined after its end. */
  payment: SignedPayment | undefined;
  transaction: string | undefined;
  creditedNano: Nano | undefined;
  reason: string | undefined;
  requestId: string;
  decimals: number;
  /** One reading found that the chain can no longer include it; a later one must confirm that. */
  isGone: boolean;
}

interface RawTopUp extends Omit<TopUpRow, 'payer' | 'payment' | 'transaction' | 'creditedNano' | 'reason'> {
  payerFamily: Wallet['family'];
  payer: string;
  payment: SignedPayment | null;
  transaction: string | null;
  creditedNano: string | null;
  reason: string | null;
}

const COLUMNS = `id as "paymentId", network, payer_family as "payerFamily", payer, account_id as "accountId", terms, state,
  settlements, payment, transaction, credited_nano as "creditedNano", reason, request_id as "requestId", decimals,
  gone_at is not null as "isGone"`;

/** Same id for every spelling of a payment, and for every payment that the network would accept in its place. */
export function paymentIdOf({
  network,
  asset,
  payer,
  nonce,
}: Pick<SignedPayment, 'network' | 'asset' | 'payer' | 'nonce'>): string {
  return `x402-${digest(['farebox payment', network, asset, payer.family, payer.address, nonce]).slice(0, 32)}`;
}

/** Digest of the signed terms: two payments with one nonce differ here. */
export function termsOf({ payTo, amount, validAfter, validBefore }: SignedPayment): string {
  return digest([payTo, amount, validAfter, validBefore ?? '']);
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

export interface NewTopUp {
  payment: SignedPayment;
  decimals: number;
  requestId: string;
}

/** Inserts the payment unless it exists; returns its row. */
export async function recordTopUp(sql: SqlClient, request: NewTopUp): Promise<TopUpRow> {
  const { payment, decimals, requestId } = request;
  const { network, asset, payer, nonce, amount } = payment;
  const paymentId = paymentIdOf(payment);
  await sql.query(
    `insert into top_ups (id, network, asset, payer_family, payer, nonce, account_id, terms, amount, decimals, payment,
       request_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict do nothing`,
    [
      ...[paymentId, network, asset, payer.family, walletName(payer), nonce, walletAccountId(payer)],
      ...[termsOf(payment), amount, decimals, JSON.stringify(payment), requestId],
    ],
  );
  return await readTopUp(sql, paymentId);
}

export async function findTopUp(sql: SqlClient, paymentId: string): Promise<TopUpRow | undefined> {
  const { rows } = await sql.query<RawTopUp>({
    name: 'find_top_up',
    text: `select ${COLUMNS} from top_ups where id = $1`,
    values: [paymentId],
  });
  return rows[0] && toTopUp(rows[0]);
}

/** Throws when there is none: rows are never deleted, so that is an internal fault. */
export async function readTopUp(sql: SqlClient, paymentId: string): Promise<TopUpRow> {
  const row = await findTopUp(sql, paymentId);
  if (!row) throw new Error(`there is no top-up ${paymentId}`);
  return row;
}

/**
 * Reserves the fee of a settlement; false above the budget. The budget limits the fees of the network that are reserved
 * this UTC day for payments without a credit. Concurrent settlements may exceed it by their own fees.
 */
export async function reserveFee(
  sql: SqlClient,
  { paymentId, network, fee, budget }: { paymentId: string; network: string; fee: bigint; budget: bigint },
): Promise<boolean> {
  const { rowCount } = await sql.query(
    `update top_ups set fee_reserved = coalesce(fee_reserved, 0) + $3::numeric, fee_day = ${UTC_DAY}
     where id = $1 and $3::numeric + (select coalesce(sum(fee_reserved), 0) from top_ups
       where fee_day = ${UTC_DAY} and network = $2 and state <> 'credited') <= $4::numeric`,
    [paymentId, network, fee.toString(), budget.toString()],
  );
  return rowCount === 1;
}

const UTC_DAY = `(clock_timestamp() at time zone 'UTC')::date`;

/** True for exactly one caller per settlement: only that one may hand the payment in. */
export async function beginSettlement(
  sql: SqlClient,
  { paymentId, settlement }: { paymentId: string; settlement: number },
): Promise<boolean> {
  const { rowCount } = await sql.query(
    `update top_ups set state = 'settling', settlements = $2
     where id = $1 and settlements = $2 - 1 and $2 <= ${MAX_SETTLEMENTS} and state = any ($3)`,
    [paymentId, settlement, topUpPredecessors('settling')],
  );
  return rowCount === 1;
}

export interface SettlementNote {
  paymentId: string;
  /** Number of the settlement; the result of an earlier one is ignored. */
  settlement: number;
  state: 'sent' | 'unknown' | 'refused';
  transaction?: string | undefined;
  reason?: string | undefined;
}

/** Records the result of a settlement. */
export async function noteSettlement(sql: SqlClient, note: SettlementNote): Promise<void> {
  await sql.query(
    `update top_ups set state = $3, transaction = coalesce($4, transaction), reason = $5,
       fee_reserved = case when $3 <> 'refused' then fee_reserved end,
       fee_day = case when $3 <> 'refused' then fee_day end
     where id = $1 and settlements = $2 and state = any ($6)`,
    [
      ...[note.paymentId, note.settlement, note.state, bounded(note.transaction), bounded(note.reason)],
      topUpPredecessors(note.state),
    ],
  );
}

/** Records that the chain has the payment, but not deep enough yet. */
export async function noteSighting(
  sql: SqlClient,
  { paymentId, transaction }: { paymentId: string; transaction: string },
): Promise<void> {
  await sql.query(
    `update top_ups set state = 'sent', transaction = $2
     where id = $1 and (state = any ($3) or state = 'sent' and transaction is distinct from $2)`,
    [paymentId, bounded(transaction), topUpPredecessors('sent')],
  );
}

/**
 * Lets the payment be handed in again: its transaction was dropped, or has too low a fee (`replaces`). Its time may run
 * out meanwhile. It can move money once, however often it is sent and whichever of its transactions the chain includes.
 * A call for an earlier `settlement` is ignored.
 */
export async function reopenTopUp(
  sql: SqlClient,
  { paymentId, settlement, replaces }: { paymentId: string; settlement: number; replaces?: string | undefined },
): Promise<TopUpRow> {
  const reason = replaces === undefined ? 'its transaction was dropped' : 'its fee was too low';
  await sql.query(
    `update top_ups set state = 'recorded', transaction = $4, reason = $5
     where id = $1 and settlements = $2 and $2 < ${MAX_SETTLEMENTS} and state = any ($3)`,
    [paymentId, settlement, topUpPredecessors('recorded'), bounded(replaces), reason],
  );
  return await readTopUp(sql, paymentId);
}

/** Terms of a payment known only from the chain, which cannot be distinguished from another with its nonce. */
export const UNKNOWN_TERMS = '0'.repeat(64);

/** Credits the amount read on the chain to the payer, exactly once; returns the row. */
export async function creditTopUp(
  pool: pg.Pool,
  { paymentId, units, transaction }: { paymentId: string; units: string; transaction: string },
): Promise<TopUpRow> {
  return await inTransaction(pool, (client) => creditTopUpIn(client, { paymentId, units, transaction }));
}

/** The same in the caller's transaction. */
export async function creditTopUpIn(
  client: pg.PoolClient,
  { paymentId, units, transaction }: { paymentId: string; units: string; transaction: string },
): Promise<TopUpRow> {
  const row = await lockTopUp(client, paymentId);
  if (row.state === 'credited') return row;
  const amount = nanoOfUnits(units, row.decimals);
  const accountId = await openWalletAccount(client, row.payer);
  const notes = `Top-up ${paymentId} on ${row.network}: ${transaction}`;
  await topUp(client, { operationId: paymentId, accountId, currency: 'usd', amount, notes });
  const { rowCount } = await client.query(
    `update top_ups set state = 'credited', transaction = $2, credited_units = $3, credited_nano = $4, payment = null,
       reason = null
     where id = $1 and state = any ($5)`,
    [paymentId, transaction, units, amount.toString(), topUpPredecessors('credited')],
  );
  // Rolls the credit back: the top-up has already ended without one.
  if (rowCount !== 1) throw new Error(`top-up ${paymentId} is ${row.state} and cannot be credited`);
  await failpoint('top-up-crediting');
  return await readTopUp(client, paymentId);
}

async function lockTopUp(client: pg.PoolClient, paymentId: string): Promise<TopUpRow> {
  await client.query('select from top_ups where id = $1 for update', [paymentId]);
  return await readTopUp(client, paymentId);
}

/** Ends the payment without a credit; returns the row. */
export async function endTopUp(
  sql: SqlClient,
  ending: {
    paymentId: string;
    state: Exclude<FinalTopUpState, 'credited'>;
    transaction?: string;
    reason: string;
  },
): Promise<TopUpRow> {
  const { paymentId, state, transaction, reason } = ending;
  await sql.query(
    `update top_ups set state = $2, transaction = coalesce($3, transaction), reason = $4, payment = null
     where id = $1 and state = any ($5)`,
    [paymentId, state, bounded(transaction), bounded(reason), topUpPredecessors(state)],
  );
  return await readTopUp(sql, paymentId);
}

/** Records that the chain can no longer include the payment; returns for how long this is known, in ms. */
export async function noteGone(sql: SqlClient, paymentId: string): Promise<number> {
  const { rows } = await sql.query<{ gone_ms: number }>(
    `update top_ups set gone_at = coalesce(gone_at, clock_timestamp()) where id = $1
     returning extract(epoch from clock_timestamp() - gone_at)::float8 * 1000 as gone_ms`,
    [paymentId],
  );
  return rows[0]?.gone_ms ?? 0;
}

/** Undoes `noteGone` after a reading that contradicts it. */
export async function clearGone(sql: SqlClient, paymentId: string): Promise<void> {
  await sql.query('update top_ups set gone_at = null where id = $1', [paymentId]);
}

/** Reopens a failed payment that the chain has after all; returns the row. */
export async function reviveTopUp(
  sql: SqlClient,
  { payment, transaction }: { payment: SignedPayment; transaction: string },
): Promise<TopUpRow> {
  const paymentId = paymentIdOf(payment);
  await sql.query(
    `update top_ups set state = 'sent', payment = $3, transaction = $4, reason = null, gone_at = null
     where id = $1 and terms = $2 and state = 'failed'`,
    [paymentId, termsOf(payment), JSON.stringify(payment), bounded(transaction)],
  );
  return await readTopUp(sql, paymentId);
}

/** `changedAt`: time of the last change, as the database prints it. */
export interface PendingTopUp extends TopUpRow {
  changedAt: string;
}

/** One page of pending payments without a recent change, oldest change first, after `after`. */
export async function pendingTopUps(
  sql: SqlClient,
  page: { olderThanMs: number; limit: number; after: PendingTopUp | undefined },
): Promise<PendingTopUp[]> {
  const { olderThanMs, limit, after } = page;
  const { rows } = await sql.query<RawTopUp & { changedAt: string }>(
    `select ${COLUMNS}, changed_at::text as "changedAt" from top_ups
     where state not in (${FINAL_TOP_UP_STATES.map((state) => `'${state}'`).join(', ')})
       and changed_at < clock_timestamp() - make_interval(secs => $1::float8 / 1000)
       and (changed_at, id) > ($3::timestamptz, $4)
     order by changed_at, id limit $2`,
    [olderThanMs, limit, after?.changedAt ?? '-infinity', after?.paymentId ?? ''],
  );
  return rows.map((row) => ({ ...toTopUp(row), changedAt: row.changedAt }));
}

export interface UnpaidTopUps {
  /** Ids of pending payments. */
  open: string[];
  /** Time until the first of them ends by its own window. */
  endsInSeconds: number;
  /** Payments of the last day that cost a fee and moved nothing. */
  costlyFailures: number;
}

/** Payments of a wallet that did not end in a credit. */
export async function readUnpaid(sql: SqlClient, payer: Wallet): Promise<UnpaidTopUps> {
  const { rows } = await sql.query<{ id: string; is_open: boolean; ends_s: number | null }>({
    name: 'read_unpaid_top_ups',
    text: `select id, state <> 'failed' as is_open,
        (payment->>'validBefore')::float8 - extract(epoch from clock_timestamp())::float8 as ends_s
      from top_ups where payer = $1 and payer_family = $2 and state <> 'credited' and (state not in ('failed', 'wrong')
        or state = 'failed' and fee_day is not null and changed_at > clock_timestamp() - interval '1 day')
      limit 100`,
    values: [walletName(payer), payer.family],
  });
  const open = rows.filter(({ is_open }) => is_open);
  return {
    open: open.map(({ id }) => id),
    endsInSeconds: Math.min(...open.map(({ ends_s }) => ends_s ?? DEFAULT_END_SECONDS)),
    costlyFailures: rows.length - open.length,
  };
}

/** For a payment without a window. */
const DEFAULT_END_SECONDS = 60;
const MAX_TEXT_LENGTH = 500;

/** Limits foreign text: a facilitator may send anything of any length. */
function bounded(text: string | undefined): string | null {
  return text?.replaceAll('\0', '').slice(0, MAX_TEXT_LENGTH) ?? null;
}

function toTopUp({ payerFamily, ...raw }: RawTopUp): TopUpRow {
  return {
    ...raw,
    payer: walletNamed(payerFamily, raw.payer),
    payment: raw.payment ?? undefined,
    transaction: raw.transaction ?? undefined,
    creditedNano: raw.creditedNano === null ? undefined : BigInt(raw.creditedNano),
    reason: raw.reason ?? undefined,
  };
}
