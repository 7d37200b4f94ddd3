/** Bodies and answers of the key routes (ACCOUNT-3 to ACCOUNT-5). Unknown fields are refused, also inside limits. */
import { z } from 'zod';
import { KEY_TYPES, MODEL_PRIVACIES } from '../../domain/caller.ts';
import { LIMIT_PERIODS } from '../../domain/ledger.ts';
import { nanoFromDecimalNumber } from '../../domain/money.ts';
import { isoTime, listOf, uuid } from '../http/describe.ts';
import { MAX_TOKEN_LENGTH } from './web3Token.ts';

const MAX_DESCRIPTION_LENGTH = 64;
const MAX_MODELS = 100;
const MAX_AMOUNT = 9_999_999_999;
const MAX_OVERLAP_SECONDS = 604_800;

/** Characters are code points, as JSON Schema and the database count them. */
const description = z
  .string()
  .refine((text) => text.length <= 2 * MAX_DESCRIPTION_LENGTH && [...text].length <= MAX_DESCRIPTION_LENGTH, {
    error: `Must have at most ${MAX_DESCRIPTION_LENGTH} characters`,
    abort: true,
  })
  .refine((text) => !/\0|\p{Surrogate}/u.test(text), 'Must be text without NUL and without half characters')
  .meta({ maxLength: MAX_DESCRIPTION_LENGTH });

/** To nano units. */
const amount = z
  .number()
  .min(0)
  .max(MAX_AMOUNT)
  .transform((units, context) => {
    const nano = nanoFromDecimalNumber(units);
    if (nano !== undefined) return nano;
    context.addIssue({ code: 'custom', message: 'Must have at most 9 decimals' });
    return z.NEVER;
  })
  .nullable();

const consumptionLimit = z.strictObject({
  usd: amount.optional(),
  diem: amount.optional(),
  /** Stored and shown, but nothing spends it. */
  vcu: amount.optional(),
});

const EXPIRY = /^(?:\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:\.\d{3})?Z)?)?$/;

/** To a Date; the empty string is no expiry, to null. */
const expiresAt = z
  .string()
  .regex(EXPIRY, 'Must be YYYY-MM-DD, YYYY-MM-DDTHH:mm:ssZ, YYYY-MM-DDTHH:mm:ss.sssZ or empty')
  .transform((text, context) => {
    if (text === '') return null;
    const expiry = readExpiry(text);
    if (expiry.ok) return expiry.at;
    context.addIssue({ code: 'custom', message: expiry.problem });
    return z.NEVER;
  });

const limitPeriod = z.enum(LIMIT_PERIODS);
const modelPrivacy = z.enum(MODEL_PRIVACIES);

export const createBody = z.strictObject({
  apiKeyType: z.enum(KEY_TYPES),
  description,
  expiresAt: expiresAt.optional(),
  consumptionLimit: consumptionLimit.optional(),
  limitPeriod: limitPeriod.default('EPOCH'),
  modelPrivacy: modelPrivacy.default('ALL'),
  /** Models that the key may call (API-17). */
  models: z.array(z.string().min(1).max(200)).min(1).max(MAX_MODELS).optional(),
  /** Parent of the new key, whose terms bound the key (API-17). */
  parentId: z.string().optional(),
});
export type CreateBody = z.output<typeof createBody>;

/** The same for a wallet, which signs the token (EIP-191, or Ed25519 for Solana). */
export const web3Body = createBody.extend({
  address: z.string().max(100),
  signature: z.string().min(1).max(500),
  token: z.string().min(1).max(MAX_TOKEN_LENGTH),
  description: description.default('Web3 API Key'),
});

/**
 * Terms of the text that the wallet signs; without `address` any wallet may sign it, without a type any type can be
 * created.
 */
export const web3Query = z.strictObject({
  address: z.string().max(100).optional(),
  apiKeyType: z.enum(KEY_TYPES).optional(),
});

/** Accepts any string as `id`: a malformed one gets the same error as an unknown one. */
export const updateBody = z.strictObject({
  id: z.string(),
  description: description.optional(),
  expiresAt: expiresAt.nullable().optional(),
  consumptionLimit: consumptionLimit.optional(),
  limitPeriod: limitPeriod.optional(),
  modelPrivacy: modelPrivacy.optional(),
});

export const deleteBody = z.strictObject({ id: z.string() }).optional();
export const deleteQuery = z.strictObject({ id: z.string().optional() });

export const rotateBody = z
  .strictObject({ overlapSeconds: z.int().min(0).max(MAX_OVERLAP_SECONDS).optional() })
  .optional();

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

const keyShown = z.strictObject(shown).meta({ id: 'ApiKey' });

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

type Expiry = { ok: true; at: Date } | { ok: false; problem: string };

/** Parses the expiry of a key. */
function readExpiry(text: string): Expiry {
  const at = new Date(text);
  // Date.parse accepts some days and hours that do not exist.
  if (Number.isNaN(at.getTime()) || !at.toISOString().startsWith(text.replace(/Z$/, ''))) {
    return { ok: false, problem: 'Must be a real date' };
  }
  return { ok: true, at };
}
