/** Rows of jobs and their timelines: every statement is a step of a job, and idempotent. */
import { type JobState, predecessors } from '../../domain/jobs.ts';
import { eventColumns, type NewEvent } from './jobEvents.ts';
import type { SqlClient } from './pool.ts';

export interface JobRow {
  queueId: string;
  accountId: string;
  keyId: string | null;
  kind: string;
  modelId: string;
  provider: string;
  state: JobState;
  requestId: string;
  /** Null when the order has no length: text by the character. */
  durationSeconds: number | null;
  priceUsdNano: bigint;
  chargeId: string;
  refundId: string | null;
  outputKey: string | null;
  outputContentType: string | null;
  outputBytes: number | null;
  outputSha256: string | null;
  outputSeconds: number | null;
  failureCode: string | null;
  failureMessage: string | null;
  suggestedPrompt: string | null;
  /** Percent; null while the provider reports none. */
  progress: number | null;
  createdAt: Date;
  storedAt: Date | null;
  endedAt: Date | null;
  /** Milliseconds from acceptance until the end, or until now, by the database clock. */
  elapsedMs: number;
}

export const JOB_COLUMNS = `queue_id as "queueId", account_id as "accountId", key_id as "keyId", kind, model_id as "modelId",
  provider, state, request_id as "requestId", duration_seconds as "durationSeconds", price_usd_nano as "priceUsdNano",
  charge_id as "chargeId", refund_id as "refundId", output_key as "outputKey",
  output_content_type as "outputContentType", output_bytes as "outputBytes", output_sha256 as "outputSha256",
  output_seconds as "outputSeconds", failure_code as "failureCode", failure_message as "failureMessage",
  suggested_prompt as "suggestedPrompt", progress, created_at as "createdAt", stored_at as "storedAt",
  ended_at as "endedAt",
  (extract(epoch from coalesce(stored_at, ended_at, clock_timestamp()) - created_at) * 1000)::float8 as "elapsedMs"`;

/** Columns of type bigint arrive as strings. */
export type RawJob = Omit<JobRow, 'priceUsdNano' | 'outputBytes'> & {
  priceUsdNano: string;
  outputBytes: string | null;
};

export function toJob(raw: RawJob): JobRow {
  return {
    ...raw,
    priceUsdNano: BigInt(raw.priceUsdNano),
    outputBytes: raw.outputBytes === null ? null : Number(raw.outputBytes),
    elapsedMs: Math.max(0, Math.round(raw.elapsedMs)),
  };
}

/**
 * A job of this account; jobs of other accounts are unknown. With `visibleTo` only jobs of that key and its children
 * are known.
 */
export async function findJob(
  sql: SqlClient,
  job: { queueId: string; accountId: string; visibleTo?: string | null },
): Promise<JobRow | undefined> {
  const { rows } = await sql.query<RawJob>({
    name: 'find-job',
    text: `select ${JOB_COLUMNS} from jobs where queue_id = $1 and account_id = $2
      and ($3::uuid is null or key_id = $3 or exists (select from api_keys k where k.id = key_id and k.parent_id = $3))`,
    values: [job.queueId, job.accountId, job.visibleTo ?? null],
  });
  return rows[0] && toJob(rows[0]);
}

/**
 * Job that a response may report as accepted although its workflow did not answer; undefined if there is none. From
 * then on the workflow does not withdraw it. A withdrawn job is returned as it ended.
 */
export async function confirmAcceptance(
  sql: SqlClient,
  job: { queueId: string; accountId: string },
): Promise<JobRow | undefined> {
  await sql.query(
    `update jobs set acceptance_sent = true
      where queue_id = $1 and account_id = $2 and state = 'accepted' and not acceptance_sent`,
    [job.queueId, job.accountId],
  );
  return await findJob(sql, job);
}

/** Reads a job for workers and operators, for every account. */
export async function readJob(sql: SqlClient, queueId: string): Promise<JobRow | undefined> {
  const { rows } = await sql.query<RawJob>(`select ${JOB_COLUMNS} from jobs where queue_id = $1`, [queueId]);
  return rows[0] && toJob(rows[0]);
}

/** For operators: jobs, newest first, of one account or, without `accountId`, of all. */
export async function listJobs(sql: SqlClient, page: { accountId?: string; limit: number }): Promise<JobRow[]> {
  const { rows } = await sql.query<RawJob>(
    `select ${JOB_COLUMNS} from jobs
      where ($1::uuid is null or account_id = $1)
      order by created_at desc, queue_id desc limit $2`,
    [page.accountId ?? null, page.limit],
  );
  return rows.map(toJob);
}

export interface NewJob {
  queueId: string;
  accountId: string;
  keyId: string | null;
  kind: string;
  modelId: string;
  provider: string;
  requestId: string;
  durationSeconds: number | null;
  priceUsdNano: bigint;
  chargeId: string;
  deadlineMs: number;
  /** Unix ms by the database clock, after which no job is inserted. */
  acceptBy: number;
}

/**
 * Inserts the row of a job in the transaction of its charge, with the timeline so far. False when it exists already, or
 * is too late: past its time, or after its order was closed.
 */
export async function insertJob(sql: SqlClient, job: NewJob, events: NewEvent[]): Promise<boolean> {
  const { rows } = await sql.query({
    name: 'insert-job',
    text: `with job as (
       insert into jobs (queue_id, account_id, key_id, kind, model_id, provider, state, request_id, duration_seconds,
         price_usd_nano, charge_operation_id, charge_id, deadline_at)
       select $1, $2, $3, $4, $5, $6, 'accepted', $7, $8, $9, $1, $10,
           clock_timestamp() + $11 * interval '1 millisecond'
         where clock_timestamp() <= to_timestamp($16::float8 / 1000)
           and not exists (select from closed_orders where queue_id = $1)
       on conflict (queue_id) do nothing returning queue_id
     ), told as (
       insert into job_events (queue_id, event, at, ledger_id, detail)
       select job.queue_id, e.event, coalesce(e.at, clock_timestamp()), e.ledger_id, e.detail
         from job, unnest($12::text[], $13::timestamptz[], $14::text[], $15::text[]) as e (event, at, ledger_id, detail)
       on conflict (queue_id, event) do nothing
     ) select queue_id from job`,
    values: [
      job.queueId,
      job.accountId,
      job.keyId,
      job.kind,
      job.modelId,
      job.provider,
      job.requestId,
      job.durationSeconds,
      job.priceUsdNano.toString(),
      job.chargeId,
      job.deadlineMs,
      ...eventColumns(events),
      job.acceptBy,
    ],
  });
  return rows.length === 1;
}

export interface JobOutput {
  key: string;
  contentType: string;
  sizeBytes: number;
  sha256: string;
  seconds: number | null;
  /** Retention when the client does not complete the job. */
  retentionMs: number;
  /** Id at the provider, for the timeline. */
  providerReference?: string;
}

/** Moves a running job to `stored`. False: it was ended meanwhile, and the output is not wanted. */
export async function recordStored(sql: SqlClient, queueId: string, output: JobOutput): Promise<boolean> {
  const { rows } = await sql.query({
    name: 'record-stored',
    text: `with stored as (
       update jobs set state = 'stored', output_key = $2, output_content_type = $3, output_bytes = $4,
         output_sha256 = $5, output_seconds = $6, stored_at = clock_timestamp(),
         media_expires_at = clock_timestamp() + $9 * interval '1 millisecond'
        where queue_id = $1 and (state = any ($7) or (state = 'stored' and output_key = $2))
       returning queue_id
     ), told as (
       insert into job_events (queue_id, event, detail)
       select queue_id, e.event, e.detail
         from stored, (values ('acknowledged', $8::text), ('stored', $4::bigint || ' bytes')) as e (event, detail)
       on conflict (queue_id, event) do nothing
     ) select queue_id from stored`,
    values: [
      queueId,
      output.key,
      output.contentType,
      output.sizeBytes,
      output.sha256,
      output.seconds,
      predecessors('stored'),
      output.providerReference ?? null,
      output.retentionMs,
    ],
  });
  return rows.length === 1;
}

/**
 * Ends a running job without an output, with its refund, in the caller's transaction; returns the existing row
 * otherwise.
 */
export async function recordEnded(
  sql: SqlClient,
  queueId: string,
  ending: { state: JobState; refundId: string; failureCode: string; failureMessage: string },
): Promise<boolean> {
  const { rowCount } = await sql.query(
    `update jobs set state = $2, refund_id = $3, failure_code = $4, failure_message = $5,
       ended_at = clock_timestamp()
      where queue_id = $1 and state = any ($6)`,
    [queueId, ending.state, ending.refundId, ending.failureCode, ending.failureMessage, predecessors(ending.state)],
  );
  return rowCount === 1;
}

/** Records that the output is deleted; returns the model of the job, unless it was recorded already. */
export async function recordRemoved(
  sql: SqlClient,
  queueId: string,
  as: 'deleted' | 'expired',
): Promise<string | undefined> {
  const { rows } = await sql.query<{ model_id: string }>(
    `update jobs set state = $2, ended_at = clock_timestamp() where queue_id = $1 and state = any ($3)
      returning model_id`,
    [queueId, as, predecessors(as)],
  );
  return rows[0]?.model_id;
}

export interface LockedJob {
  state: JobState;
  accountId: string;
  modelId: string;
  provider: string;
  priceUsdNano: bigint;
  /** The provider may have accepted it. */
  isAsked: boolean;
  operation: { [key: string]: string | number | boolean } | null;
  outputKey: string | null;
  refundId: string | null;
  /** A response reported it as accepted, without an answer of its workflow. */
  isAcceptanceSent: boolean;
}

/** Reads a job's row and locks it until the end of the caller's transaction. */
export async function lockJob(sql: SqlClient, queueId: string): Promise<LockedJob | undefined> {
  const { rows } = await sql.query<Omit<LockedJob, 'priceUsdNano'> & { price: string }>(
    `select state, account_id as "accountId", model_id as "modelId", provider, price_usd_nano as price, operation,
         submission in ('sent', 'acknowledged') as "isAsked", output_key as "outputKey", refund_id as "refundId",
         acceptance_sent as "isAcceptanceSent"
       from jobs where queue_id = $1 for update`,
    [queueId],
  );
  const row = rows[0];
  return row && { ...row, priceUsdNano: BigInt(row.price) };
}

/** P80 of the last 200 executions of a model in milliseconds, from acceptance to the stored output. */
export async function executionP80Ms(sql: SqlClient, modelId: string): Promise<number | undefined> {
  const { rows } = await sql.query<{ p80: number | null }>(
    `select percentile_disc(0.8) within group (order by ms) as p80 from (
       select extract(epoch from stored_at - created_at)::float8 * 1000 as ms
         from jobs where model_id = $1 and stored_at is not null order by stored_at desc limit 200) as last`,
    [modelId],
  );
  const p80 = rows[0]?.p80;
  return p80 === null || p80 === undefined ? undefined : Math.round(p80);
}

/** Marks media without a workflow for the next maintenance. */
export async function releaseMedia(sql: SqlClient, queueId: string): Promise<void> {
  await sql.query(`update jobs set media_expires_at = '-infinity' where queue_id = $1 and state = 'stored'`, [queueId]);
}

const DUE = {
  /** Jobs past their deadline without an output. */
  unfinished: { states: "state in ('accepted', 'submitted')", at: 'deadline_at' },
  /** Jobs with stored media past their retention. */
  stored: { states: "state = 'stored'", at: 'media_expires_at' },
} as const;

export interface DueJob {
  queueId: string;
  state: JobState;
  /** Time since when it is due, as the database prints it: a Date would lose the microseconds that order the rows. */
  at: string;
}

/** One page of jobs that are overdue by a margin, longest first, after `after`. */
export async function dueJobs(
  sql: SqlClient,
  page: { due: keyof typeof DUE; graceMs: number; limit: number; after: DueJob | undefined },
): Promise<DueJob[]> {
  const { states, at } = DUE[page.due];
  const { rows } = await sql.query<{ queue_id: string; state: JobState; at: string }>(
    `select queue_id, state, ${at}::text as at from jobs
      where ${states} and ${at} < clock_timestamp() - $1 * interval '1 millisecond'
        and (${at}, queue_id) > ($3::timestamptz, $4::uuid)
      order by ${at}, queue_id limit $2`,
    [page.graceMs, page.limit, page.after?.at ?? '-infinity', page.after?.queueId ?? NO_JOB],
  );
  return rows.map((row) => ({ queueId: row.queue_id, state: row.state, at: row.at }));
}

/** Before every other id. */
export const NO_JOB = '00000000-0000-0000-0000-000000000000';

/** Selects the ids whose job still needs its objects: running, or stored and not yet removed. */
export async function liveJobs(sql: SqlClient, queueIds: string[]): Promise<Map<string, JobState>> {
  const { rows } = await sql.query<{ queue_id: string; state: JobState }>(
    `select queue_id, state from jobs
      where queue_id = any ($1::uuid[]) and state in ('accepted', 'submitted', 'stored')`,
    [queueIds],
  );
  return new Map(rows.map((row) => [row.queue_id, row.state]));
}
