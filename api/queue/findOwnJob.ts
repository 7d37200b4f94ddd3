/** Finds the caller's job by its id; malformed, unknown and foreign ids give the same error. */

import { type Caller, keyScopeOf } from '../../domain/caller.ts';
import { FareboxError } from '../../domain/errors.ts';
import type { JobKind } from '../../domain/jobs.ts';
import { findJob, type JobRow } from '../../infra/postgres/jobs.ts';
import type { SqlClient } from '../../infra/postgres/pool.ts';
import { invalid } from '../http/invalid.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isQueueId(text: string): boolean {
  return UUID.test(text);
}

export async function findOwnJob(sql: SqlClient, caller: Caller, queueId: string): Promise<JobRow> {
  const { accountId } = caller;
  const visibleTo = keyScopeOf(caller);
  const job = isQueueId(queueId)
    ? await findJob(sql, { queueId: queueId.toLowerCase(), accountId, visibleTo })
    : undefined;
  if (job) return job;
  throw new FareboxError({ code: 'request_id_invalid', message: 'Request ID is invalid.' });
}

/** The same for a route of one kind of job: the named model must be that of the job. */
export async function findJobOf(
  sql: SqlClient,
  caller: Caller,
  named: { queueId: string; modelId: string; kind: JobKind },
): Promise<JobRow> {
  const job = await findOwnJob(sql, caller, named.queueId);
  if (job.kind === named.kind && job.modelId === named.modelId) return job;
  throw invalid('model', 'This is not the model of the job');
}
