/** Where the events of jobs go: a user's URL, kept here and nowhere else. */
import type { WebhookEvent } from '../../domain/webhooks.ts';
import { NO_JOB } from './jobs.ts';
import type { PurgePage, SqlClient } from './pool.ts';

export interface JobWebhook {
  queueId: string;
  accountId: string;
  url: string;
  events: readonly WebhookEvent[];
}

/** Written ahead of the order; the same order again changes nothing. */
export async function keepWebhook(sql: SqlClient, webhook: JobWebhook): Promise<void> {
  await sql.query({
    name: 'keep-webhook',
    text: `insert into job_webhooks (queue_id, account_id, url, events) values ($1, $2, $3, $4)
      on conflict (queue_id) do nothing`,
    values: [webhook.queueId, webhook.accountId, webhook.url, webhook.events],
  });
}

/** An order that came to nothing has nothing to tell; one that became a job keeps its row. */
export async function dropWebhook(sql: SqlClient, queueId: string): Promise<void> {
  await sql.query(
    'delete from job_webhooks where queue_id = $1 and not exists (select from jobs where queue_id = $1)',
    [queueId],
  );
}

/** Forgets URLs with everything that was told there, a page at a time, once their job has ended that long ago. */
export async function purgeWebhooks(sql: SqlClient, page: PurgePage): Promise<number> {
  const { rowCount } = await sql.query(
    `with past as (select clock_timestamp() - $1 * interval '1 millisecond' as before)
     delete from job_webhooks where queue_id in (
       select w.queue_id from past, job_webhooks w left join jobs j using (queue_id)
        where w.created_at < past.before and (j.queue_id is null or j.ended_at < past.before)
        order by w.created_at limit $2)`,
    [page.olderThanMs, page.limit],
  );
  return rowCount ?? 0;
}

export interface UntoldEvent {
  queueId: string;
  accountId: string;
  event: WebhookEvent;
  /** When the webhook was ordered, as the database prints it. */
  orderedAt: string;
}

/**
 * One page, oldest orders first, behind `after`: events that happened and that nobody has begun to tell: those of a job whose workflow was lost. `withinMs` bounds how far
 * back orders are looked at, `graceMs` leaves the workflow time to do it itself.
 */
export async function unsentEvents(
  sql: SqlClient,
  page: { graceMs: number; withinMs: number; limit: number; after: UntoldEvent | undefined },
): Promise<UntoldEvent[]> {
  const { graceMs, withinMs, limit, after } = page;
  const { rows } = await sql.query<UntoldEvent>(
    `select w.queue_id as "queueId", w.account_id as "accountId", 'job.' || e.event as event,
         w.created_at::text as "orderedAt"
       from job_webhooks w join job_events e on e.queue_id = w.queue_id and 'job.' || e.event = any (w.events)
      where w.created_at > clock_timestamp() - $2 * interval '1 millisecond'
        and e.at < clock_timestamp() - $1 * interval '1 millisecond'
        and not exists (
          select from webhook_deliveries d where d.queue_id = w.queue_id and d.event = 'job.' || e.event)
        and (w.created_at, w.queue_id, 'job.' || e.event) > ($4::timestamptz, $5::uuid, $6::text)
      order by w.created_at, w.queue_id, 'job.' || e.event limit $3`,
    [graceMs, withinMs, limit, after?.orderedAt ?? '-infinity', after?.queueId ?? NO_JOB, after?.event ?? ''],
  );
  return rows;
}
