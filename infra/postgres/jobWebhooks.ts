/** Webhook URLs of jobs, which are kept only here. */
import type { WebhookEvent } from '../../domain/webhooks.ts';
import { NO_JOB } from './jobs.ts';
import type { PurgePage, SqlClient } from './pool.ts';

export interface JobWebhook {
  queueId: string;
  accountId: string;
  url: string;
  events: readonly WebhookEvent[];
}

/** Written before the order; idempotent. */
export async function keepWebhook(sql: SqlClient, webhook: JobWebhook): Promise<void> {
  await sql.query({
    name: 'keep-webhook',
    text: `insert into job_webhooks (queue_id, account_id, url, events) values ($1, $2, $3, $4)
      on conflict (queue_id) do nothing`,
    values: [webhook.queueId, webhook.accountId, webhook.url, webhook.events],
  });
}

/** Removes the webhook of a refused order; one that became a job keeps its row. */
export async function dropWebhook(sql: SqlClient, queueId: string): Promise<void> {
  await sql.query(
    'delete from job_webhooks where queue_id = $1 and not exists (select from jobs where queue_id = $1)',
    [queueId],
  );
}

/** Deletes a page of URLs with their deliveries, for jobs that ended long ago. */
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

export interface UnsentEvent {
  queueId: string;
  accountId: string;
  event: WebhookEvent;
  /** Time of the order, as the database prints it. */
  orderedAt: string;
}

/**
 * One page, oldest orders first, after `after`: events without a delivery, for jobs whose workflow was lost. `withinMs`
 * bounds the age of the orders, `graceMs` leaves the workflow time to deliver.
 */
export async function unsentEvents(
  sql: SqlClient,
  page: { graceMs: number; withinMs: number; limit: number; after: UnsentEvent | undefined },
): Promise<UnsentEvent[]> {
  const { graceMs, withinMs, limit, after } = page;
  const { rows } = await sql.query<UnsentEvent>(
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
