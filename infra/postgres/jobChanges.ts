/** Changes of a job, numbered in the order of the commits (append_job_change). */
import type { JobState, TimelineEvent } from '../../domain/jobs.ts';
import type { Part } from '../../domain/ledger.ts';
import { partsOf, type RawParts } from './jobMoney.ts';
import type { SqlClient } from './pool.ts';

/** Channel whose payload is the queue_id of the changed job. */
export const JOB_CHANNEL = 'farebox_jobs';

/**
 * Notifies the listeners of an ended job. The refund itself does not, as its transaction locks the account. A lost
 * notification costs a moment.
 */
export async function announceJob(sql: SqlClient, queueId: string): Promise<void> {
  await sql.query('select pg_notify($1, $2)', [JOB_CHANNEL, queueId]);
}

interface EventNumber {
  /** From 1, without gaps that are filled later. */
  seq: number;
  at: Date;
}

export type JobChange =
  | (EventNumber & { kind: 'state'; state: JobState })
  /** Whole percent. */
  | (EventNumber & { kind: 'progress'; progress: number })
  | (EventNumber & {
      kind: 'timeline';
      event: TimelineEvent;
      ledgerId: string | null;
      detail: string | null;
      amounts: Part[];
    });

interface RawChange extends RawParts {
  seq: number;
  kind: JobChange['kind'];
  value: string;
  at: Date;
  ledger_id: string | null;
  detail: string | null;
}

/** All changes above a number, in order: at most about 120 in the life of a job. */
export async function readChanges(
  sql: SqlClient,
  { queueId, after }: { queueId: string; after: number },
): Promise<JobChange[]> {
  const { rows } = await sql.query<RawChange>({
    name: 'read-job-changes',
    text: `select c.seq, c.kind, c.value, coalesce(e.at, c.at) as at, e.ledger_id, e.detail, o.diem, o.bundled, o.usd
      from job_changes c
      left join job_events e on e.queue_id = c.queue_id and c.kind = 'timeline' and e.event = c.value
      left join operations o on o.operation_id = e.ledger_id collate "C"
        and o.kind = case c.value when 'charged' then 'charge' when 'refunded' then 'refund' end
      where c.queue_id = $1 and c.seq > $2 order by c.seq`,
    values: [queueId, after],
  });
  return rows.map(toChange);
}

function toChange(raw: RawChange): JobChange {
  const { seq, at, kind, value } = raw;
  // The table checks of these names are the lists of domain/jobs.ts.
  if (kind === 'state') return { seq, at, kind, state: value as JobState };
  if (kind === 'progress') return { seq, at, kind, progress: Number(value) };
  const { ledger_id: ledgerId, detail } = raw;
  return { seq, at, kind, event: value as TimelineEvent, ledgerId, detail, amounts: partsOf(raw) };
}
