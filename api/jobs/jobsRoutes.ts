/** GET /jobs, GET /jobs/{queue_id} and POST /jobs/{queue_id}/cancel: beside the specification, for every kind of job. */
import { z } from 'zod';
import { FareboxError } from '../../domain/errors.ts';
import { timelineOf } from '../../infra/postgres/jobEvents.ts';
import { listJobs } from '../../infra/postgres/jobs.ts';
import { json } from '../answer.ts';
import { findOwnJob } from '../findOwnJob.ts';
import { pageLimit } from '../paging.ts';
import { cancelGeneration } from '../queued.ts';
import { defineRoute } from '../route.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { JOB_DESCRIPTIONS } from './descriptions.ts';
import { presentEvent, presentJob } from './presentJob.ts';

const listQuery = z.strictObject({
  limit: pageLimit,
  cursor: z.string().max(256).optional(),
});

export const listJobsRoute = defineRoute({
  method: 'GET',
  path: '/jobs',
  access: 'key',
  query: listQuery,
  describes: JOB_DESCRIPTIONS.list,
  async handler({ sql }, { caller, query }) {
    const before = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
    const rows = await listJobs(sql, {
      accountId: caller.accountId,
      limit: query.limit + 1,
      ...(before ? { before } : {}),
    });
    const page = rows.slice(0, query.limit);
    const last = page.at(-1);
    const more = rows.length > query.limit && last !== undefined;
    return json({
      object: 'list',
      data: page.map(presentJob),
      next_cursor: more ? encodeCursor(last) : null,
    });
  },
});

export const showJobRoute = defineRoute({
  method: 'GET',
  path: '/jobs/{queue_id}',
  access: 'key',
  describes: JOB_DESCRIPTIONS.show,
  async handler({ sql }, { caller, params }) {
    const job = await findOwnJob(sql, caller, params.queue_id ?? '');
    const timeline = await timelineOf(sql, job.queueId);
    return json({ ...presentJob(job), timeline: timeline.map(presentEvent) });
  },
});

export const cancelJobRoute = defineRoute({
  method: 'POST',
  path: '/jobs/{queue_id}/cancel',
  access: 'key',
  describes: JOB_DESCRIPTIONS.cancel,
  async handler({ sql, temporal }, { caller, params }) {
    const job = await findOwnJob(sql, caller, params.queue_id ?? '');
    if (job.state === 'accepted' || job.state === 'submitted') {
      await cancelGeneration(temporal, job.queueId);
    }
    // The row is the judge: the output may have been stored while the wish to cancel was on its way.
    const now = await findOwnJob(sql, caller, job.queueId);
    if (now.state === 'cancelled') return json(presentJob(now));
    const message =
      now.state === 'accepted' || now.state === 'submitted'
        ? 'The job could not be cancelled yet; please try again.'
        : `The job can no longer be cancelled: it is ${now.state}.`;
    throw new FareboxError({ code: 'conflict', message });
  },
});
