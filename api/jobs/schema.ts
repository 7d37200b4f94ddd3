/** Answers of the job routes, which are an addition to the published API (API-17). */
import { z } from 'zod';
import { CURRENCY_NAMES } from '../../domain/currencyNames.ts';
import { JOB_STATES } from '../../domain/jobs.ts';
import { isoTime, listOf, uuid } from '../http/describe.ts';

const amounts = z.array(z.strictObject({ currency: z.enum(Object.values(CURRENCY_NAMES)), amount: z.number().min(0) }));

const progress = z.number().nullable().meta({ description: 'Percent; null while the provider says nothing.' });

const job = {
  queue_id: uuid,
  object: z.literal('job'),
  kind: z.string(),
  model: z.string(),
  state: z.enum(JOB_STATES),
  progress,
  duration_seconds: z.number().nullable().meta({
    description: 'As charged; null for what is not charged by its length.',
  }),
  price_usd: z.number().min(0),
  charge_id: z.string(),
  charged: amounts.meta({ description: 'What was taken, by currency.' }),
  credits_refunded: z.boolean(),
  refund_id: z.string().nullable(),
  refunded: amounts.meta({ description: 'What came back, by currency.' }),
  error: z.string().nullable(),
  request_id: z.string(),
  created_at: isoTime,
  ended_at: isoTime.nullable(),
  execution_duration: z.number().meta({ description: 'Milliseconds.' }),
};

export const jobAnswer = z.strictObject(job).meta({ id: 'Job' });

export const jobListAnswer = listOf(jobAnswer).extend({ next_cursor: z.string().nullable() });

export const jobWithTimelineAnswer = z
  .strictObject({
    ...job,
    timeline: z.array(
      z.strictObject({
        event: z.string(),
        at: isoTime,
        ledger_id: z.string().nullable().meta({ description: 'The transfer that the event made.' }),
        detail: z.string().nullable(),
        amounts: amounts.meta({ description: 'What that transfer moved.' }),
      }),
    ),
  })
  .meta({ id: 'JobWithTimeline' });
