/** Records the conversation with a provider about a job: before, during and after it. */
import type { JobState } from '../../domain/jobs.ts';
import type { ProviderLimits } from '../../domain/providerSettings.ts';
import type { SqlClient } from './pool.ts';

export type SubmissionGate =
  /** The provider was not asked, or is known not to have accepted. */
  | { go: 'submit' }
  /** An earlier attempt asked, and its answer is lost. */
  | { go: 'ask' }
  | { go: 'poll'; operation: { [key: string]: string | number | boolean } }
  /** No job slot of the provider is free for this account, or the provider answers no request. */
  | { go: 'wait'; retryAfterMs: number; waitsFor: 'place' | 'provider' }
  /** The output exists, or the job has ended. */
  | { go: 'stop'; state: JobState };

/**
 * Records that the provider is about to be asked, and returns the result of earlier attempts. The database decides for
 * all workers whether there is a place: open_submission in infra/postgres/functions/providers/.
 */
export async function openSubmission(
  sql: SqlClient,
  queueId: string,
  { concurrent, perMinute }: ProviderLimits = {},
): Promise<SubmissionGate> {
  const { rows } = await sql.query<SubmissionRow>({
    name: 'open-submission',
    text: 'select go, job_state, job_operation, wait_ms, waits_for from open_submission($1, $2, $3)',
    values: [queueId, concurrent ?? null, perMinute ?? null],
  });
  const opened = rows[0];
  if (!opened) throw new Error(`job ${queueId} has no row`);
  switch (opened.go) {
    case 'stop':
      return { go: 'stop', state: opened.job_state };
    case 'poll':
      return { go: 'poll', operation: opened.job_operation };
    case 'wait':
      return { go: 'wait', retryAfterMs: opened.wait_ms, waitsFor: opened.waits_for };
    default:
      return { go: opened.go };
  }
}

type SubmissionRow = { job_state: JobState } & (
  | { go: 'submit' | 'ask' | 'stop' }
  | { go: 'poll'; job_operation: { [key: string]: string | number | boolean } }
  | { go: 'wait'; wait_ms: number; waits_for: 'place' | 'provider' }
);

/** Records that the provider did not accept, so that asking again is safe. */
export async function closeSubmission(sql: SqlClient, queueId: string): Promise<void> {
  await sql.query(
    `update jobs set submission = 'not_accepted' where queue_id = $1 and submission = 'sent' and operation is null`,
    [queueId],
  );
}

/** Stores the handle of an accepted job before anything else is done with it. */
export async function recordOperation(
  sql: SqlClient,
  queueId: string,
  operation: { [key: string]: string | number | boolean },
): Promise<void> {
  await sql.query(
    `update jobs set submission = 'acknowledged', operation = $2 where queue_id = $1 and operation is null`,
    [queueId, JSON.stringify(operation)],
  );
}

/** Records the progress that the provider reports; it never decreases. */
export async function recordProgress(sql: SqlClient, queueId: string, percent: number): Promise<void> {
  await sql.query(
    `update jobs set progress = $2
      where queue_id = $1 and state = 'submitted' and coalesce(progress, -1) < $2`,
    [queueId, percent],
  );
}

/** Records the prompt that the provider proposes instead of the one that it is about to refuse. */
export async function recordSuggestion(sql: SqlClient, queueId: string, prompt: string): Promise<void> {
  await sql.query(
    `update jobs set suggested_prompt = left($2, 20000) where queue_id = $1 and state in ('accepted', 'submitted')`,
    [queueId, prompt],
  );
}

const MAX_CALLBACKS = 5;

/**
 * Records a provider's call about a job. True for a new call, which may wake the job. False when the job is not with
 * that provider, the same call came before, or the maximum is reached.
 */
export async function recordCallback(
  sql: SqlClient,
  { queueId, provider, digest }: { queueId: string; provider: string; digest: Buffer },
): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'record-callback',
    text: `update jobs set callbacks = callbacks || $3::bytea
            where queue_id = $1 and provider = $2 and state = 'submitted'
              and cardinality(callbacks) < $4 and $3::bytea <> all (callbacks)`,
    values: [queueId, provider, digest, MAX_CALLBACKS],
  });
  return rowCount === 1;
}
