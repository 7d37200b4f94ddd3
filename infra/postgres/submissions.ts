/** What is written about the conversation with a provider: ahead of it, after it, and while it lasts. */
import type { JobState } from '../../domain/jobs.ts';
import type { ProviderLimits } from '../../domain/providerSettings.ts';
import type { SqlClient } from './pool.ts';

export type SubmissionGate =
  /** Nobody has asked the provider, or it is known that it did not accept: go ahead. */
  | { go: 'submit' }
  /** An earlier attempt asked and its answer is lost. */
  | { go: 'ask' }
  | { go: 'poll'; operation: { [key: string]: string | number | boolean } }
  /** Neither now: all places are taken or due to other accounts, or the provider does not answer anybody. */
  | { go: 'wait'; retryAfterMs: number; waitsFor: 'place' | 'provider' }
  /** The output is there, or the job was ended. */
  | { go: 'stop'; state: JobState };

/**
 * Writes ahead that the provider is about to be asked, and says what an earlier attempt left behind. Whether there is room
 * is decided by the database, for all workers at once: open_submission in infra/postgres/functions/providers/.
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

/** The provider is known not to have accepted, so asking again is safe. */
export async function closeSubmission(sql: SqlClient, queueId: string): Promise<void> {
  await sql.query(
    `update jobs set submission = 'not_accepted' where queue_id = $1 and submission = 'sent' and operation is null`,
    [queueId],
  );
}

/** The provider accepted and gave a handle; it is kept before anything else is done with it. */
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

/** How far the provider says it is; never back. */
export async function recordProgress(sql: SqlClient, queueId: string, percent: number): Promise<void> {
  await sql.query(
    `update jobs set progress = $2
      where queue_id = $1 and state = 'submitted' and coalesce(progress, -1) < $2`,
    [queueId, percent],
  );
}

/** What the provider proposed instead of the prompt that it is about to refuse. */
export async function recordSuggestion(sql: SqlClient, queueId: string, prompt: string): Promise<void> {
  await sql.query(
    `update jobs set suggested_prompt = left($2, 20000) where queue_id = $1 and state in ('accepted', 'submitted')`,
    [queueId, prompt],
  );
}

const MAX_CALLBACKS = 5;

/**
 * A call of the provider about a job: true for a new one that may wake it. False when the job is not with that provider
 * (any more), when the same call came before, or when there were enough of them already.
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
