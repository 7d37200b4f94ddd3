/**
 * GET /x402/balance/{walletAddress} and /x402/transactions/{walletAddress}, for the own wallet of the caller
 * (WALLET-16).
 */
import { z } from 'zod';
import { FareboxError } from '../../domain/errors.ts';
import { canConsume } from '../../domain/ledger.ts';
import { nanoToNumber, nanoToNumberDown } from '../../domain/money.ts';
import { SUGGESTED_TOP_UP_USD } from '../../domain/payments/topUp.ts';
import { MIN_TOP_UP_USD } from '../../domain/payments/topUpAmount.ts';
import { toWallet, type Wallet } from '../../domain/wallets.ts';
import { type Balance, balanceOf } from '../../infra/postgres/ledger.ts';
import { type WalletTransaction, walletTransactions } from '../../infra/postgres/walletTransactions.ts';
import { json } from '../http/answer.ts';
import { invalid } from '../http/invalid.ts';
import { asInteger } from '../http/parameterSchema.ts';
import { defineRoute } from '../http/route.ts';
import { X402_DESCRIPTIONS } from './openapi.ts';
import { presentWallet } from './presentWallet.ts';
import { notConfiguredAnswer } from './topUpRoute.ts';

export const walletBalanceRoute = defineRoute({
  method: 'GET',
  path: '/x402/balance/{walletAddress}',
  access: 'own-wallet',
  describes: X402_DESCRIPTIONS.balance,
  closed: notConfiguredAnswer,
  async handler({ core: { sql } }, { caller, params }) {
    mustBeOwn(caller.wallet, params.walletAddress);
    const balance = (await balanceOf(sql, caller.accountId)) ?? NOTHING;
    const data = {
      walletAddress: presentWallet(caller.wallet),
      balanceUsd: nanoToNumberDown(dollarsOf(balance)),
      canConsume: canConsume(balance),
      minimumTopUpUsd: MIN_TOP_UP_USD,
      suggestedTopUpUsd: SUGGESTED_TOP_UP_USD,
      ...(balance.diemAllocation > 0n && { diemBalanceUsd: nanoToNumberDown(balance.diem) }),
    };
    return json({ success: true, data });
  },
});

const MAX_SKIPPED = 1_000_000_000;

const transactionsQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,3}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(100))
    .default(50)
    .meta(asInteger({ minimum: 1, maximum: 100, default: 50 })),
  offset: z
    .string()
    .regex(/^\d{1,10}$/)
    .transform(Number)
    .pipe(z.int().min(0).max(MAX_SKIPPED))
    .default(0)
    .meta(asInteger({ minimum: 0, maximum: MAX_SKIPPED, default: 0 })),
});

export const walletTransactionsRoute = defineRoute({
  method: 'GET',
  path: '/x402/transactions/{walletAddress}',
  access: 'own-wallet',
  query: transactionsQuery,
  describes: X402_DESCRIPTIONS.transactions,
  closed: notConfiguredAnswer,
  async handler({ core: { sql } }, { caller, params, query: { limit, offset } }) {
    mustBeOwn(caller.wallet, params.walletAddress);
    const { accountId, wallet } = caller;
    // One more than the page shows whether there is another.
    const [balance = NOTHING, rows] = await Promise.all([
      balanceOf(sql, accountId),
      walletTransactions(sql, { accountId, limit: limit + 1, offset }),
    ]);
    const data = {
      walletAddress: presentWallet(wallet),
      currentBalance: nanoToNumberDown(dollarsOf(balance)),
      transactions: rows.slice(0, limit).map(presentTransaction),
      pagination: { limit, offset, hasMore: rows.length > limit },
    };
    return json({ success: true, data });
  },
});

/** For a wallet that has never topped up. */
const NOTHING: Balance = {
  usd: 0n,
  bundled: 0n,
  vcu: 0n,
  diem: 0n,
  diemAllocation: 0n,
  held: { usd: 0n, bundled: 0n, diem: 0n },
};

/** Bundled credit is spent like dollars and shown as such. */
function dollarsOf({ usd, bundled }: Balance): bigint {
  return usd + bundled;
}

/** Throws FareboxError: `invalid_request` for an invalid address, `forbidden` for another wallet. */
function mustBeOwn(own: Wallet, named: string | undefined): void {
  const wallet = toWallet(named ?? '');
  if (!wallet) throw invalid('walletAddress', 'must be an address of an EVM chain or of Solana');
  if (wallet.family === own.family && wallet.address === own.address) return;
  throw new FareboxError({
    code: 'forbidden',
    message: 'A wallet can only read its own balance and transactions.',
  });
}

function presentTransaction(row: WalletTransaction) {
  return {
    id: row.id,
    amount: nanoToNumber(row.amountNano),
    balanceAfter: nanoToNumberDown(row.balanceAfterNano),
    type: row.type,
    createdAt: row.createdAt.toISOString(),
    requestId: row.requestId,
    modelId: row.modelId,
  };
}
