/** GET /jobs, GET /jobs/{queue_id} and POST /jobs/{queue_id}/cancel, for every kind of job (API-17). */
import { keyScopeOf } from '../../domain/caller.ts';
import { FareboxError } from '../../domain/errors.ts';
import { isRunning } from '../../domain/jobs.ts';
import { refundedPerDayOf } from '../../domain/limits/refundedPerDay.ts';
import { formatNano } from '../../domain/money.ts';
import { presentEvent, presentJob } from '../../domain/presentJob.ts';
import type { Config } from '../../infra/config/config.ts';
import { timelineOf } from '../../infra/postgres/jobEvents.ts';
import { listJobsBy } from '../../infra/postgres/jobList.ts';
import { moneyOfJobs } from '../../infra/postgres/jobMoney.ts';
import type { JobRow } from '../../infra/postgres/jobs.ts';
import type { SqlClient } from '../../infra/postgres/pool.ts';
import { json } from '../http/answer.ts';
import { defineRoute } from '../http/route.ts';
import { findOwnJob } from '../queue/findOwnJob.ts';
import { cancelGeneration } from '../queue/generationClient.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { filtersOf, listQuery } from './listQuery.ts';
import { JOB_DESCRIPTIONS } from './openapi.ts';

export const listJobsRoute = defineRoute({
  method: 'GET',
  path: '/jobs',
  access: 'caller',
  query: listQuery,
  describes: JOB_DESCRIPTIONS.list,
  async handler({ core: { sql } }, { caller, query }) {
    const filters = filtersOf(query);
    const from = query.cursor === undefined ? undefined : decodeCursor(query.cursor, filters);
    const whose = { accountId: caller.accountId, visibleTo: keyScopeOf(caller) };
    const rows = await listJobsBy(sql, { ...filters, ...whose, from, limit: query.limit + 1 });
    const page = rows.slice(0, query.limit);
    const last = page.at(-1);
    const more = rows.length > query.limit && last !== undefined;
    return json({
      object: 'list',
      data: await presentJobs(sql, page),
      next_cursor: more ? encodeCursor(last, filters) : null,
    });
  },
});

/** Jobs with their charges and refunds, read once for all of them. */
async function presentJobs(sql: SqlClient, jobs: readonly JobRow[]) {
  const money = await moneyOfJobs(
    sql,
    jobs.map(({ queueId }) => queueId),
  );
  return jobs.map((job) => presentJob(job, money.get(job.queueId)));
}

export const showJobRoute = defineRoute({
  method: 'GET',
  path: '/jobs/{queue_id}',
  access: 'caller',
  requestLimit: 'jobs',
  describes: JOB_DESCRIPTIONS.show,
  async handler({ core: { sql } }, { caller, params }) {
    const job = await findOwnJob(sql, caller, params.queue_id ?? '');
    const [[shown], timeline] = await Promise.all([presentJobs(sql, [job]), timelineOf(sql, job.queueId)]);
    return json({ ...shown, timeline: timeline.map(presentEvent) });
  },
});

export const cancelJobRoute = defineRoute({
  method: 'POST',
  path: '/jobs/{queue_id}/cancel',
  access: 'caller',
  requestLimit: 'jobs',
  describes: JOB_DESCRIPTIONS.cancel,
  async handler({ core: { config, sql }, jobs: { temporal } }, { caller, params }) {
    const job = await findOwnJob(sql, caller, params.queue_id ?? '');
    const cancelled = isRunning(job.state) ? await cancelGeneration(temporal, job.queueId) : undefined;
    if (cancelled?.outcome === 'over_budget') throw overRefundBudget(config, caller.accountId);
    // The row decides: the output may have been stored while the request to cancel was in transit.
    const now = await findOwnJob(sql, caller, job.queueId);
    if (now.state === 'cancelled') return json((await presentJobs(sql, [now]))[0]);
    const message = isRunning(now.state)
      ? 'The job could not be cancelled yet; please try again.'
      : `The job can no longer be cancelled: it is ${now.state}.`;
    throw new FareboxError({ code: 'conflict', message });
  },
});

function overRefundBudget({ limits }: Config, accountId: string): FareboxError {
  const perDay = formatNano(refundedPerDayOf(limits, accountId));
  const message =
    'The job cannot be cancelled: its provider has been asked for it and cannot be stopped, and refunds of such work are ' +
    `limited to ${perDay} USD per UTC day for this account. The job goes on and its charge stands.`;
  return new FareboxError({ code: 'conflict', message });
}
