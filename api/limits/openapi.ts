/** Descriptions and answers of the limit routes (ACCOUNT-15). */
import { z } from 'zod';
import { LIMIT_TYPES } from '../../domain/limits/limits.ts';
import { answersWith, isoTime, listOf, type RouteDescription, uuid } from '../http/describe.ts';

const limitType = z.enum(LIMIT_TYPES);

const limitsAnswer = z.strictObject({
  data: z
    .strictObject({
      accessPermitted: z.boolean(),
      apiTier: z.strictObject({ id: z.string(), isCharged: z.boolean() }),
      balances: z
        .strictObject({ USD: z.number(), DIEM: z.number(), BUNDLED_CREDITS: z.number() })
        .meta({ description: 'What the key can still spend; of an ADMIN key what its account has.' }),
      keyExpiration: isoTime.nullable(),
      nextEpochBegins: isoTime,
      rateLimits: z.array(
        z.strictObject({
          apiModelId: z.string(),
          rateLimits: z.array(z.strictObject({ amount: z.number(), type: z.enum(['RPM', 'TPM']) })),
        }),
      ),
      accountRateLimits: z.array(z.strictObject({ scope: z.string(), amount: z.number(), type: limitType })).meta({
        description:
          'Of the account, beside those of models. RPM and RPD count over all processes, the others in each.',
      }),
    })
    .meta({ id: 'RateLimits' }),
});

const refusal = z
  .strictObject({
    apiKeyId: uuid,
    modelId: z.string().meta({ description: 'Or `endpoint:…` for a route without a model.' }),
    rateLimitTier: z.string(),
    rateLimitType: limitType,
    timestamp: isoTime,
  })
  .meta({ id: 'RateLimitRefusal' });

export const LIMITS_DESCRIPTION: RouteDescription = {
  group: 'Limits',
  operationId: 'showRateLimits',
  summary: 'What the key may call, and how often',
  answers: answersWith(limitsAnswer),
  example: {},
};

/** `alias`: path that clients of the public API use. */
export function logDescription(alias: boolean): RouteDescription {
  return {
    group: 'Limits',
    operationId: alias ? 'listRateLimitLogsAlias' : 'listRateLimitLogs',
    summary: 'The latest requests that were refused for their number',
    answers: answersWith(listOf(refusal)),
    example: {},
  };
}
