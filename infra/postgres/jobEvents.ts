/** Timeline of a job: events with their times, each once. */
import type { TimelineEvent } from '../../domain/jobs.ts';
import type { Part } from '../../domain/ledger.ts';
import { partsOf, type RawParts } from './jobMoney.ts';
import type { SqlClient } from './pool.ts';

export interface NewEvent {
  event: TimelineEvent;
  at?: string;
  ledgerId?: string;
  detail?: string;
}

/** Adds to a job's timeline; each event is kept once, with its first time. */
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
  /** Amount of the transfer of the event; none for events without one. */
  amounts: Part[];
}

export async function timelineOf(sql: SqlClient, queueId: string): Promise<RecordedEvent[]> {
  const { rows } = await sql.query<
    RawParts & { event: TimelineEvent; at: Date; ledger_id: string | null; detail: string | null }
  >({
    name: 'timeline-of-job',
    text: `select e.event, e.at, e.ledger_id, e.detail, o.diem, o.bundled, o.usd from job_events e
      left join operations o on o.operation_id = e.ledger_id collate "C"
        and o.kind = case e.event when 'charged' then 'charge' when 'refunded' then 'refund' end
      where e.queue_id = $1 order by e.at, e.event`,
    values: [queueId],
  });
  return rows.map((row) => {
    const { event, at, ledger_id: ledgerId, detail } = row;
    return { event, at, ledgerId, detail, amounts: partsOf(row) };
  });
}
