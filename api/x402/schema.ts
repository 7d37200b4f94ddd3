/** Answers of the payment routes, as schemas for their description. */
import { z } from 'zod';
import { PAYMENT_REFUSALS } from '../../domain/payments/envelope.ts';
import { WALLET_TRANSACTION_TYPES } from '../../infra/postgres/walletTransactions.ts';
import { isoTime } from '../http/describe.ts';

const walletAddress = z.string().meta({ description: 'Of EVM with its checksum; of Solana in base58.' });

export const offerBody = z.strictObject({
  x402Version: z.literal(2),
  error: z.literal('Payment required'),
  resource: z.strictObject({ url: z.string(), description: z.string(), mimeType: z.string() }),
  accepts: z.array(
    z.strictObject({
      scheme: z.literal('exact'),
      network: z.string().meta({ description: 'CAIP-2.' }),
      amount: z.string().meta({ description: 'Smallest units of the token: the least that is taken.' }),
      asset: z.string(),
      payTo: z.string(),
      maxTimeoutSeconds: z.number(),
      extra: z.record(z.string(), z.string()),
    }),
  ),
});

export const creditedBody = z.strictObject({
  success: z.literal(true),
  data: z.strictObject({
    walletAddress,
    amountCredited: z.number().meta({ description: 'USD: what arrived.' }),
    newBalance: z.number().optional().meta({
      description:
        'USD, at the time of this answer. Left out where the payment was presented before, unless its payer signs in.',
    }),
    paymentId: z.string(),
  }),
});

const coded = <Code extends z.ZodType>(error: Code) =>
  z.strictObject({ error, message: z.string(), details: z.record(z.string(), z.string()).optional() });

export const refusedBody = coded(z.enum(PAYMENT_REFUSALS));
export const failedBody = coded(z.literal('SETTLEMENT_FAILED'));
export const inProgressBody = coded(z.literal('PAYMENT_IN_PROGRESS'));
export const timeoutBody = coded(z.literal('SETTLEMENT_TIMEOUT'));
export const notConfiguredBody = z.strictObject({
  error: z.literal('X402_NOT_CONFIGURED'),
  message: z.string(),
});
export const signInRefusedBody = z.strictObject({ error: z.string(), code: z.string() });

export const balanceBody = z.strictObject({
  success: z.literal(true),
  data: z.strictObject({
    walletAddress,
    balanceUsd: z.number(),
    canConsume: z.boolean(),
    minimumTopUpUsd: z.number(),
    suggestedTopUpUsd: z.number(),
    diemBalanceUsd: z.number().optional(),
  }),
});

export const transactionsBody = z.strictObject({
  success: z.literal(true),
  data: z.strictObject({
    walletAddress,
    currentBalance: z.number(),
    transactions: z.array(
      z.strictObject({
        id: z.string(),
        amount: z.number().meta({ description: 'USD, below zero for a charge.' }),
        balanceAfter: z.number(),
        type: z.enum(WALLET_TRANSACTION_TYPES),
        createdAt: isoTime,
        requestId: z.string().nullable(),
        modelId: z.string().nullable(),
      }),
    ),
    pagination: z.strictObject({ limit: z.number(), offset: z.number(), hasMore: z.boolean() }),
  }),
});
