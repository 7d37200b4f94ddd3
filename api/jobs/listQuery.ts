/** Query of GET /jobs. */
import { z } from 'zod';
import { JOB_KINDS, JOB_STATES } from '../../domain/jobs.ts';
import type { JobFilters } from '../../infra/postgres/jobList.ts';
import { pageLimit } from '../http/paging.ts';
import { asList, asTime } from '../http/parameterSchema.ts';

const MAX_MODELS = 10;
const MAX_MODEL_LENGTH = 200;

/** One value, several with commas, or the parameter several times. */
function several<Item extends z.ZodType<string, string>>(item: Item, most: number, words: string) {
  const values = z
    .array(item)
    .min(1)
    .max(most)
    .transform((all) => [...new Set(all)]);
  return z
    .union([z.string(), z.array(z.string())])
    .transform((sent) => [sent].flat().flatMap((part) => part.split(',').map((value) => value.trim())))
    .pipe(values)
    .optional()
    .meta({ ...asList(), description: `${words} Several with commas, or the parameter again.` });
}

const time = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], { error: 'Expected an ISO 8601 date or time' })
  .transform((text) => new Date(text))
  .optional()
  .meta(asTime('date-time', '2026-11-21T00:00:00.000Z'));

export const listQuery = z
  .strictObject({
    limit: pageLimit,
    cursor: z
      .string()
      .max(256)
      .optional()
      .meta({ description: '`next_cursor` of the page before; the filters must be the same.' }),
    kind: several(z.enum(JOB_KINDS), JOB_KINDS.length, `${JOB_KINDS.join(', ')}.`),
    model: several(z.string().min(1).max(MAX_MODEL_LENGTH), MAX_MODELS, `Ids of models, at most ${MAX_MODELS}.`),
    state: several(z.enum(JOB_STATES), JOB_STATES.length, `${JOB_STATES.join(', ')}.`),
    created_after: time,
    created_before: time,
    order: z.enum(['asc', 'desc']).default('desc'),
  })
  .superRefine(({ created_after: after, created_before: before }, context) => {
    if (after === undefined || before === undefined || after < before) return;
    const message = 'created_before must be later than created_after';
    context.addIssue({ code: 'custom', path: ['created_before'], message });
  });

export function filtersOf(query: z.output<typeof listQuery>): JobFilters {
  return {
    kinds: query.kind,
    models: query.model,
    states: query.state,
    createdAfter: query.created_after,
    createdBefore: query.created_before,
    order: query.order,
  };
}
