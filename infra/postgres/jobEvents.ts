/** The timeline of a job: what happened to it and when, each thing once. */
import type { TimelineEvent } from '../../domain/jobs.ts';
import type { SqlClient } from './pool.ts';

export interface NewEvent {
  event: TimelineEvent;
  at?: string;
  ledgerId?: string;
  detail?: string;
}

/** Adds to a job's timeline; each event is kept once, with the time of its first telling. */
export async function recordEvents(sql: SqlClient, queueId: string, events: NewEvent[]): Promise<void> {
  await sql.query(
    `insert into job_events (queue_id, event, at, ledger_id, detail)
     select $1, e.event, coalesce(e.at, clock_timestamp()), e.ledger_id, e.detail
       from unnest($2::text[], $3::timestamptz[], $4::text[], $5::text[]) as e (event, at, ledger_id, detail)
     on conflict (queue_id, event) do nothing`,
    [queueId, ...eventColumns(events)],
  );
}

/** The events as the arrays that `unnest` takes: names, times, ledger ids, details. */
export function eventColumns(events: NewEvent[]): (string | null)[][] {
  return [
    events.map((each) => each.event),
    events.map((each) => each.at ?? null),
    events.map((each) => each.ledgerId ?? null),
    events.map((each) => each.detail ?? null),
  ];
}

export interface RecordedEvent {
  event: TimelineEvent;
  at: Date;
  ledgerId: string | null;
  detail: string | null;
}

export async function timelineOf(sql: SqlClient, queueId: string): Promise<RecordedEvent[]> {
  const { rows } = await sql.query<{
    event: TimelineEvent;
    at: Date;
    ledger_id: string | null;
    detail: string | null;
  }>('select event, at, ledger_id, detail from job_events where queue_id = $1 order by at, event', [queueId]);
  return rows.map(({ event, at, ledger_id, detail }) => ({ event, at, ledgerId: ledger_id, detail }));
}
