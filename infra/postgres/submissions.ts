/** What is written about the conversation with a provider: ahead of it, after it, and while it lasts. */
import { isRunning, type JobState } from '../../domain/jobs.ts';
import type { SqlClient } from './pool.ts';

export type SubmissionGate =
  /** Nobody has asked the provider, or it is known that it did not accept: go ahead. */
  | { go: 'submit' }
  /** An earlier attempt asked and its answer is lost. */
  | { go: 'ask' }
  | { go: 'poll'; operation: { [key: string]: string | number | boolean } }
  /** The output is there, or the job was ended. */
  | { go: 'stop'; state: JobState };

/** Writes ahead that the provider is about to be asked, and says what an earlier attempt left behind. */
export async function openSubmission(sql: SqlClient, queueId: string): Promise<SubmissionGate> {
  const opened = await sql.query({
    name: 'open-submission',
    text: `with opened as (
       update jobs set state = 'submitted', submission = 'sent'
        where queue_id = $1 and state in ('accepted', 'submitted') and submission in ('none', 'not_accepted')
       returning queue_id, provider
     ), told as (
       insert into job_events (queue_id, event, detail) select queue_id, 'submitted', provider from opened
       on conflict (queue_id, event) do nothing
     ) select queue_id from opened`,
    values: [queueId],
  });
  if (opened.rows.length === 1) return { go: 'submit' };
  const { rows } = await sql.query<{
    state: JobState;
    operation: { [key: string]: string | number | boolean } | null;
  }>('select state, operation from jobs where queue_id = $1', [queueId]);
  const row = rows[0];
  if (!row) throw new Error(`job ${queueId} has no row`);
  if (!isRunning(row.state)) return { go: 'stop', state: row.state };
  return row.operation ? { go: 'poll', operation: row.operation } : { go: 'ask' };
}

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
