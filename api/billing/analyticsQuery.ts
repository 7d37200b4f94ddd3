/** Query of GET /billing/usage-analytics (ACCOUNT-14). */
import { z } from 'zod';
import { asTime } from '../http/parameterSchema.ts';
import { formatDay, parseDay } from './timestamps.ts';

const MAX_DAYS = 90;
const DEFAULT_LOOKBACK = '7d';

const day = z
  .string()
  .transform((text, context) => {
    const number = parseDay(text);
    if (number !== undefined) return number;
    context.addIssue({ code: 'custom', message: 'Expected a date such as 2026-11-21' });
    return z.NEVER;
  })
  .meta(asTime('date', '2026-11-21'));

export const analyticsQuery = z
  .strictObject({
    lookback: z
      .string()
      .regex(/^[1-9]\d*d$/)
      .optional(),
    startDate: day.optional(),
    endDate: day.optional(),
  })
  .superRefine(({ lookback, startDate, endDate }, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (lookback !== undefined && (startDate !== undefined || endDate !== undefined)) {
      refuse('lookback', 'Give either lookback or startDate and endDate');
    } else if (startDate === undefined && endDate !== undefined) {
      refuse('startDate', 'startDate is required with endDate');
    } else if (startDate !== undefined && endDate === undefined) {
      refuse('endDate', 'endDate is required with startDate');
    } else if (startDate !== undefined && endDate !== undefined) {
      if (endDate < startDate) refuse('endDate', 'endDate must not be before startDate');
      if (endDate - startDate > MAX_DAYS) refuse('endDate', `At most ${MAX_DAYS} days after startDate`);
    }
  });

export type AnalyticsQuery = z.infer<typeof analyticsQuery>;

export interface DayRange {
  /** Name in the answer. */
  lookback: string;
  /** UTC days, oldest first, without gaps. */
  days: string[];
}

/** `today` (UTC) is the last day of a lookback, so that `1d` is today. */
export function daysOf({ lookback, startDate, endDate }: AnalyticsQuery, today: string): DayRange {
  if (startDate !== undefined && endDate !== undefined) {
    return { lookback: `${endDate - startDate + 1}d`, days: between(startDate, endDate) };
  }
  const count = Math.min(Number((lookback ?? DEFAULT_LOOKBACK).slice(0, -1)), MAX_DAYS);
  const last = parseDay(today) ?? 0;
  return { lookback: `${count}d`, days: between(last - count + 1, last) };
}

function between(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => formatDay(first + index));
}
