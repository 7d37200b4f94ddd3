/** Credits an on-chain payment to the wallet of its payer. */
import type pg from 'pg';
import { creditTopUp, paymentIdOf, recordTopUp } from '../../../infra/postgres/topUps.ts';
import { walletAccountId } from '../../../infra/postgres/walletAccounts.ts';
import { somePayment } from '../../payments/scriptedNetwork.ts';

export interface PaidIn {
  /** Account of the wallet. */
  wallet: string;
  payment: string;
}

/** `units`: millionths of a USD. */
export async function payIn(pool: pg.Pool, units: string): Promise<PaidIn> {
  const signed = somePayment({ amount: units });
  const payment = paymentIdOf(signed);
  await recordTopUp(pool, { payment: signed, decimals: 6, requestId: 'r' });
  await creditTopUp(pool, { paymentId: payment, units, transaction: '0x1' });
  return { payment, wallet: walletAccountId(signed.payer) };
}
