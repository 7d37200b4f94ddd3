/** Ledger side of a reconciliation with the chains, and the credit of a payment that only the chain has. */
import type pg from 'pg';
import type { BookedPayment } from '../../domain/payments/reconcile.ts';
import type { TopUpState } from '../../domain/payments/topUp.ts';
import { type Wallet, walletName, walletNamed } from '../../domain/wallets.ts';
import { recordAct } from './audit.ts';
import { inTransaction, type SqlClient } from './pool.ts';
import { creditTopUpIn, UNKNOWN_TERMS } from './topUps.ts';
import { walletAccountId } from './walletAccounts.ts';

interface RawBooked {
  id: string;
  network: string;
  state: TopUpState;
  transaction: string | null;
  credited_units: string | null;
}

const COLUMNS = 'id, network, state, transaction, credited_units';
const PAGE = 1_000;

/** Payments of a network that were credited and first seen since then. */
export async function creditedSince(
  sql: SqlClient,
  { network, asset, since }: { network: string; asset: string; since: Date },
): Promise<BookedPayment[]> {
  const booked: BookedPayment[] = [];
  for (;;) {
    const { rows } = await sql.query<RawBooked>(
      `select ${COLUMNS} from top_ups
       where network = $1 and asset = $2 and created_at >= $3 and state = 'credited' and id > $4
       order by id limit ${PAGE}`,
      [network, asset, since, booked.at(-1)?.paymentId ?? ''],
    );
    booked.push(...rows.map(toBooked));
    if (rows.length < PAGE) return booked;
  }
}

/** By id; payments that the ledger lacks are left out. */
export async function bookedPayments(
  sql: SqlClient,
  ids: readonly string[],
): Promise<ReadonlyMap<string, BookedPayment>> {
  const { rows } = await sql.query<RawBooked>(`select ${COLUMNS} from top_ups where id = any ($1)`, [ids]);
  return new Map(rows.map((row) => [row.id, toBooked(row)]));
}

function toBooked({ id, network, state, transaction, credited_units }: RawBooked): BookedPayment {
  return {
    ...{ paymentId: id, network, state },
    transaction: transaction ?? undefined,
    creditedUnits: credited_units ?? undefined,
  };
}

export interface FoundPayment {
  paymentId: string;
  network: string;
  asset: string;
  payer: Wallet;
  nonce: string;
  /** Smallest units. */
  amount: string;
  decimals: number;
  transaction: string;
}

/**
 * Credits a payment that the chain has and the ledger lacks, or has as failed. Idempotent by the id of the payment.
 * `unknown payer`: the wallet has no account here, so it is unknown whether the payment was meant as a top-up.
 */
export async function creditFoundPayment(
  pool: pg.Pool,
  found: FoundPayment,
): Promise<'credited' | 'unknown payer' | 'wrong'> {
  const { paymentId, network, payer, transaction, amount } = found;
  return await inTransaction(pool, async (client) => {
    const owner = await knownOwner(client, payer, network);
    if (owner === undefined) return 'unknown payer';
    await recordFound(client, found, owner);
    const { rows } = await client.query<{ state: TopUpState }>('select state from top_ups where id = $1 for update', [
      paymentId,
    ]);
    if (rows[0]?.state === 'credited') return 'credited';
    // It was used without paying the promised amount: an operator has to judge that.
    if (rows[0]?.state === 'wrong') return 'wrong';
    const credited = await creditTopUpIn(client, { paymentId, units: amount, transaction });
    await recordAct(client, {
      ...{ accountId: credited.accountId, actor: 'operator', action: 'credit.grant', targetId: paymentId },
      changes: { currency: 'usd', units: amount, network, transaction, note: 'found on the chain' },
    });
    return 'credited';
  });
}

/** The chain does not tell whether a key or a contract signed: the existing account does. */
async function knownOwner(
  client: SqlClient,
  { family, address }: Wallet,
  network: string,
): Promise<Wallet | undefined> {
  const names = [walletName({ family, address, chain: network }), address];
  const { rows } = await client.query<{ address: string }>(
    'select address from wallet_accounts where family = $1 and address = any ($2) order by length(address) desc',
    [family, names],
  );
  return rows[0] && walletNamed(family, rows[0].address);
}

/** Inserts the payment, or resumes a failed one, with the data of the chain. */
async function recordFound(client: SqlClient, found: FoundPayment, owner: Wallet): Promise<void> {
  const { paymentId, network, asset, nonce, amount, decimals, transaction } = found;
  await client.query(
    `insert into top_ups (id, network, asset, payer_family, payer, nonce, account_id, terms, amount, decimals, payment,
       state, transaction, request_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '{}', 'sent', $11, 'reconcile')
     on conflict (id) do update set state = 'sent', payment = '{}' where top_ups.state = 'failed'`,
    [
      ...[paymentId, network, asset, owner.family, walletName(owner), nonce, walletAccountId(owner)],
      ...[UNKNOWN_TERMS, amount, decimals, transaction],
    ],
  );
}
