/** Answers of the billing routes (ACCOUNT-8, ACCOUNT-11, ACCOUNT-14). */
import { z } from 'zod';

const amount = z.number();
const currency = z.enum(['USD', 'DIEM', 'BUNDLED_CREDITS', 'VCU']);

export const balanceAnswer = z
  .strictObject({
    canConsume: z.boolean(),
    consumptionCurrency: currency.nullable().meta({ description: 'From where the next charge is taken.' }),
    balances: z.strictObject({ diem: amount.nullable(), usd: amount.nullable() }),
    diemEpochAllocation: amount,
  })
  .meta({ id: 'Balance', description: 'Rounded down where a number cannot say it.' });

const entry = z
  .strictObject({
    timestamp: z.string().max(40),
    sku: z.string(),
    units: amount,
    unit: amount.meta({ description: 'As `units`.' }),
    pricePerUnitUsd: amount,
    amount: amount.meta({ description: 'What was billed, above zero; a refund is an entry below zero.' }),
    currency,
    notes: z.string(),
    inferenceDetails: z
      .strictObject({
        requestId: z.string(),
        promptTokens: z.int().min(0).nullable(),
        completionTokens: z.int().min(0).nullable(),
        inferenceExecutionTime: z.int().min(0).nullable().meta({ description: 'Milliseconds.' }),
      })
      .nullable(),
  })
  .meta({ id: 'UsageEntry' });

export const usageAnswer = z.strictObject({
  data: z.array(entry).max(1_000),
  nextCursor: z
    .string()
    .max(512)
    .regex(/^[A-Za-z0-9_-]+$/)
    .nullable(),
});

const totals = { totalUsd: amount, totalDiem: amount, totalUnits: amount };
const daily = z.array(z.record(z.string(), z.number()));

export const analyticsAnswer = z.strictObject({
  lookback: z.string(),
  byDate: z.array(z.strictObject({ date: z.string(), USD: amount, DIEM: amount })),
  byModel: z.array(
    z.strictObject({
      modelName: z.string(),
      unitType: z.string(),
      modelType: z.string().nullable(),
      ...totals,
      breakdown: z.array(z.strictObject({ type: z.string(), usd: amount, diem: amount, units: amount })),
    }),
  ),
  byModelDaily: daily.meta({ description: '`date` in Unix milliseconds, and the units of each model.' }),
  topModels: z.array(z.string()),
  byKey: z.array(z.strictObject({ apiKeyId: z.string().nullable(), description: z.string(), ...totals })),
  byKeyDaily: daily,
  topKeyNames: z.array(z.string()),
});

export const retiredAnswer = z.strictObject({ error: z.string() });
