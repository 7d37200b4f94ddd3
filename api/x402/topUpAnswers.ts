/** Answers of the top-up route (WALLET-11 to WALLET-13). Every code has a message and the state of the payment. */
import { BASE_PATH } from '../../domain/basePaths.ts';
import { nanoToNumber, nanoToNumberDown } from '../../domain/money.ts';
import type { Config } from '../../infra/config/config.ts';
import { balanceOf } from '../../infra/postgres/ledger.ts';
import type { Sql } from '../../infra/postgres/pool.ts';
import type { TopUpRow } from '../../infra/postgres/topUps.ts';
import type { PaymentRefused, PaymentRequirement } from '../../providers/payments/paymentNetwork.ts';
import { paymentOffer, paymentRequired } from '../auth/discovery.ts';
import { TOP_UP_PATH } from '../auth/topUpUrl.ts';
import { type Answer, json } from '../http/answer.ts';
import type { PresentedTopUp } from '../wallets/topUpService.ts';
import { presentWallet } from './presentWallet.ts';

export const NOT_CONFIGURED = {
  error: 'X402_NOT_CONFIGURED',
  message: 'This deployment takes no payments: no payment network is configured.',
};

/** Names the route by its usual address: a payment for it is accepted below each base path. */
export function offerAnswer(
  config: Pick<Config, 'publicUrl' | 'brand'>,
  accepts: readonly PaymentRequirement[],
): Answer {
  const offer = paymentOffer(config, { path: `${BASE_PATH}${TOP_UP_PATH}`, accepts, error: 'Payment required' });
  return json(offer, { status: 402, headers: paymentRequired(offer) });
}

export function refusedAnswer({ code, message, details }: PaymentRefused): Answer {
  return json({ error: code, message, ...(details && { details }) }, { status: 400 });
}

/** Seconds after which a retry makes sense. */
const ASK_AGAIN_SECONDS = 2;
const ASK_AGAIN =
  'The credit comes by itself. Present the same payment again to hear of it, and do not sign another one.';

/**
 * `isPayer`: the payer itself signed in with the payment. A signed payment is public once it is on the chain, so a
 * presenter of a settled payment learns its state only, and not the present balance of the wallet.
 */
export async function topUpStateAnswer(
  sql: Sql,
  { row, paymentId, known }: PresentedTopUp,
  isPayer: boolean,
): Promise<Answer> {
  switch (row?.state) {
    case 'credited':
      return await creditedAnswer(row, isPayer || (!known && row.settlements > 0) ? sql : undefined);
    case 'refused':
      return settlementFailed(row, 'The payment was not settled: nothing moved. It may be presented again.');
    case 'failed':
      return settlementFailed(
        row,
        'The payment was not settled: nothing moved, and this one cannot be settled any more.',
      );
    case 'wrong':
      return settlementFailed(
        row,
        'The payment was used up on its chain without paying what it promised. The operator has been told.',
      );
    default: {
      const [status, error, message] = known
        ? ([409, 'PAYMENT_IN_PROGRESS', `This payment is being settled. ${ASK_AGAIN}`] as const)
        : ([504, 'SETTLEMENT_TIMEOUT', `The payment is not settled yet. ${ASK_AGAIN}`] as const);
      const headers = { 'Retry-After': String(ASK_AGAIN_SECONDS) };
      const details = { status: 'pending', paymentId, ...transactionOf(row) };
      return json({ error, message, details }, { status, headers });
    }
  }
}

function transactionOf(row: TopUpRow | undefined): { transaction?: string } {
  return row?.transaction === undefined ? {} : { transaction: row.transaction };
}

function settlementFailed(row: TopUpRow, message: string): Answer {
  const details = { status: row.state, paymentId: row.paymentId, ...transactionOf(row) };
  return json({ error: 'SETTLEMENT_FAILED', message, details }, { status: 402 });
}

/** `sql`: reads the balance. */
async function creditedAnswer(row: TopUpRow, sql: Sql | undefined): Promise<Answer> {
  const { paymentId, network, payer, transaction = '', creditedNano = 0n } = row;
  const balance = sql && (await balanceOf(sql, row.accountId));
  const data = {
    walletAddress: presentWallet(payer),
    amountCredited: nanoToNumber(creditedNano),
    ...(balance && { newBalance: nanoToNumberDown(balance.usd + balance.bundled) }),
    paymentId,
  };
  const response = { success: true, network, payer: data.walletAddress, transaction };
  return json({ success: true, data }, { headers: { 'PAYMENT-RESPONSE': base64(response) } });
}

function base64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}
