/** Answers of the key routes (ACCOUNT-3, ACCOUNT-4). */
import { z } from 'zod';
import { KEY_TYPES, MODEL_PRIVACIES } from '../../domain/caller.ts';
import { LIMIT_PERIODS } from '../../domain/ledger.ts';
import { isoTime, listOf, uuid } from '../describe.ts';

const cap = z.number().min(0).nullable();
const limits = z
  .strictObject({ usd: cap, diem: cap, vcu: cap })
  .meta({ description: 'What the key may spend in a period; null: no cap.' });

const spent = z.string().regex(/^-?\d+\.\d{4}$/);

const common = {
  id: uuid,
  apiKeyType: z.enum(KEY_TYPES),
  description: z.string(),
  limitPeriod: z.enum(LIMIT_PERIODS),
  modelPrivacy: z.enum(MODEL_PRIVACIES),
  expiresAt: isoTime.nullable(),
  models: z
    .array(z.string())
    .optional()
    .meta({ description: 'The only models that the key may call; left out: all of them.' }),
  parentId: uuid.optional().meta({ description: 'Of a child: the key whose terms bind it, too.' }),
};

const shown = {
  ...common,
  consumptionLimits: limits,
  createdAt: isoTime,
  lastUsedAt: isoTime.nullable(),
  last6Chars: z.string().length(6),
};

export const keyShown = z.strictObject(shown).meta({ id: 'ApiKey' });

const keyWithUsage = z
  .strictObject({
    ...shown,
    usage: z.strictObject({ trailingSevenDays: z.strictObject({ usd: spent, vcu: spent, diem: spent }) }),
    currentPeriodUsage: z
      .strictObject({ usd: spent, diem: spent })
      .optional()
      .meta({ description: 'Only on a key that has a cap.' }),
  })
  .meta({ id: 'ApiKeyWithUsage' });

const secret = z.string().meta({ description: 'The secret; it is shown this once.' });

export const keyListAnswer = listOf(keyWithUsage);
export const keyAnswer = z.strictObject({ data: keyWithUsage });
export const createdAnswer = z.strictObject({
  success: z.literal(true),
  data: z.strictObject({ ...common, apiKey: secret, consumptionLimit: limits }).meta({ id: 'NewApiKey' }),
});
export const web3TokenAnswer = z.strictObject({
  success: z.literal(true),
  data: z.strictObject({
    token: z.string().meta({ description: 'To be signed as it is; good for 15 minutes, once.' }),
  }),
});
export const changedAnswer = z.strictObject({ success: z.literal(true), data: keyShown });
export const deletedAnswer = z.strictObject({ success: z.literal(true) });
export const rotatedAnswer = z.strictObject({
  success: z.literal(true),
  data: z
    .strictObject({ ...shown, apiKey: secret, previousKeyExpiresAt: isoTime.nullable() })
    .meta({ id: 'RotatedApiKey' }),
});
