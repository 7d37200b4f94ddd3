/** Query of GET /billing/usage-history (ACCOUNT-12). */
import { z } from 'zod';
import { asInteger, asTime } from '../http/parameterSchema.ts';
import { parseTimestamp } from './timestamps.ts';

export const MAX_PAGE = 1_000;

const timestamp = z
  .string()
  .transform((text, context) => {
    const nanoseconds = parseTimestamp(text);
    if (nanoseconds !== undefined) return nanoseconds;
    context.addIssue({ code: 'custom', message: 'Expected a time such as 2026-11-21T00:00:00.000Z' });
    return z.NEVER;
  })
  .meta(asTime('date-time', '2026-11-21T00:00:00.000Z'));

const pageSize = z
  .string()
  .regex(/^[1-9]\d{0,5}$/)
  .transform(Number)
  .pipe(z.int().min(10).max(MAX_PAGE))
  .meta(asInteger({ minimum: 10, maximum: MAX_PAGE }));

export const usageQuery = z
  .strictObject({
    startTimestamp: timestamp.optional(),
    endTimestamp: timestamp.optional(),
    currency: z.enum(['USD', 'DIEM', 'BUNDLED_CREDITS']).optional(),
    pageSize: pageSize.optional(),
    cursor: z
      .string()
      .max(512)
      .regex(/^[A-Za-z0-9_-]+$/)
      .optional(),
  })
  .superRefine((query, context) => {
    const { cursor, ...filters } = query;
    if (cursor !== undefined && Object.values(filters).some((value) => value !== undefined)) {
      const message = 'A cursor carries its filters and page size and must be sent alone';
      context.addIssue({ code: 'custom', path: ['cursor'], message });
    }
    const { startTimestamp, endTimestamp } = query;
    if (startTimestamp !== undefined && endTimestamp !== undefined && endTimestamp <= startTimestamp) {
      const message = 'endTimestamp must be later than startTimestamp';
      context.addIssue({ code: 'custom', path: ['endTimestamp'], message });
    }
  });

export type UsageQuery = z.infer<typeof usageQuery>;
