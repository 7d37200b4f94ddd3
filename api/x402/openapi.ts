/** Descriptions of the payment routes. */
import { z } from 'zod';
import { WALLET_ADDRESS } from '../../domain/wallets.ts';
import type { RouteDescription } from '../http/describe.ts';
import {
  balanceBody,
  creditedBody,
  failedBody,
  inProgressBody,
  notConfiguredBody,
  offerBody,
  refusedBody,
  signInRefusedBody,
  timeoutBody,
  transactionsBody,
} from './schema.ts';

type X402Descriptions = Record<'topUp' | 'balance' | 'transactions', RouteDescription>;

const SETTING = '`x402.networks`';
const NOT_CONFIGURED = {
  means: 'No payment network is configured.',
  bodies: [{ schema: notConfiguredBody }],
};

const params = z.object({ walletAddress: z.string().regex(WALLET_ADDRESS) });
const EXAMPLE_WALLET = { params: { walletAddress: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266' } };
const SIGNED_IN = 'For the wallet that signs in with `SIGN-IN-WITH-X`, of itself only.';

export const X402_DESCRIPTIONS: X402Descriptions = {
  topUp: {
    group: 'Wallets',
    operationId: 'topUp',
    summary: 'Pay with a wallet',
    description:
      'Without a payment: what can be paid with (402). With one in `PAYMENT-SIGNATURE` (or `X-402-Payment`, `X-PAYMENT`): ' +
      'credits its payer once it is final on its chain. A payment that is still being settled is answered with 504 or 409 ' +
      'and `details.status` "pending": present the same payment again, never another one; it is credited once. No body.',
    setting: SETTING,
    answers: {
      200: {
        means: 'Credited. A repetition is told the same but for the balance.',
        bodies: [{ schema: creditedBody }],
        headers: { 'PAYMENT-RESPONSE': 'Base64 of `{success, network, payer, transaction}`.' },
      },
      400: { means: 'The payment is refused; nothing moved.', bodies: [{ schema: refusedBody }] },
      401: { means: 'The sign-in beside the payment is no good.', bodies: [{ schema: signInRefusedBody }] },
      402: {
        means: 'What can be paid with; or the payment was not settled, and nothing moved.',
        bodies: [{ schema: offerBody }, { schema: failedBody }],
        headers: { 'PAYMENT-REQUIRED': 'Base64 of the offer.' },
      },
      409: { means: 'The payment is being settled.', bodies: [{ schema: inProgressBody }] },
      503: NOT_CONFIGURED,
      504: { means: 'The payment is not settled yet.', bodies: [{ schema: timeoutBody }] },
    },
    errors: ['rate_limited', 'unavailable', 'credential_ambiguous'],
    example: {},
  },
  balance: {
    group: 'Wallets',
    operationId: 'showWalletBalance',
    summary: 'What a wallet can spend',
    description: SIGNED_IN,
    setting: SETTING,
    params,
    answers: { 200: { means: 'OK', bodies: [{ schema: balanceBody }] }, 503: NOT_CONFIGURED },
    errors: ['forbidden', 'invalid_request'],
    example: EXAMPLE_WALLET,
  },
  transactions: {
    group: 'Wallets',
    operationId: 'listWalletTransactions',
    summary: 'Top-ups, charges and refunds of a wallet, newest first',
    description: `${SIGNED_IN} The refunds of one request are one row.`,
    setting: SETTING,
    params,
    answers: { 200: { means: 'OK', bodies: [{ schema: transactionsBody }] }, 503: NOT_CONFIGURED },
    errors: ['forbidden', 'invalid_request'],
    example: EXAMPLE_WALLET,
  },
};
