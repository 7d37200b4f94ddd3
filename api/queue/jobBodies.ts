/** Bodies and answers shared by the routes of all queued jobs (JOB-4, JOB-5, JOB-7). */
import { z } from 'zod';

export const SMALL_JSON_BYTES = 64 * 1024;

const model = z.string().min(1);

/** Accepts any string as `queue_id`: a malformed one gets the same error as an unknown one. */
export const retrieveBody = z.strictObject({
  model,
  queue_id: z.string(),
  delete_media_on_completion: z.boolean().default(false),
});

export const completeBody = z.strictObject({ model, queue_id: z.string() });

const times = {
  average_execution_time: z.number().meta({ description: 'Milliseconds: P80 of the last executions.' }),
  execution_duration: z.number().meta({ description: 'Milliseconds since the job was accepted.' }),
};

export const processingAnswer = z
  .strictObject({ status: z.literal('PROCESSING'), ...times })
  .meta({ id: 'JobProcessing' });

/** Status of media behind a link: the state alone, also when the job is done. */
export const linkedStatusAnswer = z
  .strictObject({ status: z.enum(['PROCESSING', 'COMPLETED']), ...times })
  .meta({ id: 'JobStatus' });

export const failedAnswer = z
  .strictObject({ error: z.string(), credits_refunded: z.boolean() })
  .meta({ id: 'JobFailed' });

export const suggestionAnswer = z
  .strictObject({
    error: z.string(),
    suggested_prompt: z.string().optional().meta({ description: 'What the provider would take instead.' }),
  })
  .meta({ id: 'PromptRefused' });

export const contentPolicyAnswer = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      type: z.literal('provider_content_policy'),
      credits_refunded: z.boolean(),
      recommended_model: z.string().optional().meta({ description: 'Of another provider.' }),
    }),
  })
  .meta({ id: 'ContentPolicyRefused' });

export const completeAnswer = z.strictObject({
  success: z.boolean().meta({ description: 'false: the media could not be deleted yet; ask again.' }),
});

/** `duration_seconds` as a number or as digits, which other deployments of this API accept as well. */
export const wholeSeconds = z.union([
  z.int().positive().max(36_000),
  z
    .string()
    .regex(/^[1-9]\d{0,4}$/)
    .transform(Number)
    .pipe(z.int().max(36_000)),
]);
