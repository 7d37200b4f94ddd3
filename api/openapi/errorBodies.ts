/** Bodies of errors as schemas (API-7, API-8). */
import { z } from 'zod';
import type { BodyShape } from '../http/errors.ts';

const error = z.string().meta({ description: 'Words for people.' });

const plain = z.strictObject({ error }).meta({ id: 'Error' });

const issue = z.looseObject({
  code: z.string(),
  path: z.array(z.union([z.string(), z.number()])),
  message: z.string(),
});

const validation = z
  .strictObject({
    error,
    details: z
      .looseObject({ _errors: z.array(z.string()) })
      .optional()
      .meta({ description: 'A tree of the fields; each has its findings in `_errors`.' }),
    issues: z.array(issue).optional(),
  })
  .meta({ id: 'ValidationError' });

const coded = z.strictObject({ code: z.string(), error }).meta({ id: 'CodedError' });

const limited = z
  .strictObject({ error, customMessage: z.string().meta({ description: 'Names the cap.' }) })
  .meta({ id: 'RateLimitError' });

const typed = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      type: z.literal('invalid_request_error'),
      param: z.literal('messages'),
      code: z.string(),
    }),
  })
  .meta({ id: 'TypedError' });

/** A request without a credential gets payment offers and a sign-in challenge. */
export const discoveryBody = z
  .looseObject({
    x402Version: z.literal(2),
    error,
    resource: z.strictObject({ url: z.string(), description: z.string(), mimeType: z.string() }),
    accepts: z.array(z.looseObject({})),
    extensions: z.looseObject({}),
    authOptions: z.looseObject({}),
  })
  .meta({ id: 'PaymentRequired' });

/** Body for a wallet below the minimum balance (WALLET-8). */
export const topUpBody = z
  .strictObject({
    error: z.literal('Payment required'),
    code: z.literal('PAYMENT_REQUIRED'),
    reason: z.literal('insufficient_balance'),
    message: z.string(),
    currentBalanceUsd: z.number(),
    minimumBalanceUsd: z.number(),
    description: z.string(),
    suggestedTopUpUsd: z.number(),
    minimumTopUpUsd: z.number(),
    supportedTokens: z.array(z.string()),
    supportedChains: z.array(z.string()),
    topUpInstructions: z.strictObject({
      step1: z.string(),
      step2: z.string(),
      step3: z.string(),
      receiverWallet: z.string(),
      tokenAddress: z.string(),
      tokenDecimals: z.int(),
      network: z.string().meta({ description: 'CAIP-2.' }),
      minimumAmountUsd: z.number(),
    }),
    siwxChallenge: z.strictObject({
      info: z.strictObject({
        domain: z.string(),
        uri: z.string(),
        version: z.string(),
        nonce: z.string(),
        issuedAt: z.string(),
        expirationTime: z.string(),
        statement: z.string(),
      }),
      supportedChains: z.array(z.strictObject({ chainId: z.string(), type: z.enum(['eip191', 'eip1271', 'ed25519']) })),
    }),
  })
  .meta({ id: 'TopUpNeeded' });

export const ERROR_BODIES: Record<BodyShape, z.ZodType> = { plain, validation, coded, limited, typed };
