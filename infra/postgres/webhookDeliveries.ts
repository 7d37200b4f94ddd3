/** Webhook deliveries: one per event of a job, with its attempts. */
import {
  type DeliveryState,
  deliveryStateAfter,
  MAX_WEBHOOK_ATTEMPTS,
  type WebhookError,
  type WebhookEvent,
} from '../../domain/webhooks.ts';
import type { SqlClient } from './pool.ts';

export interface DeliveryTarget {
  /** The `webhook-id`. */
  id: string;
  accountId: string;
  url: string;
  body: string;
}

/** Earlier delivery of an event; undefined without one, or when its URL is no longer kept. */
export async function findTarget(
  sql: SqlClient,
  told: { queueId: string; event: WebhookEvent },
): Promise<DeliveryTarget | undefined> {
  const { rows } = await sql.query<{ id: string; account_id: string; url: string; body: string }>({
    name: 'find-delivery',
    text: `select d.id, w.account_id, w.url, d.body
      from webhook_deliveries d join job_webhooks w using (queue_id) where d.queue_id = $1 and d.event = $2`,
    values: [told.queueId, told.event],
  });
  const row = rows[0];
  return row && { id: row.id, accountId: row.account_id, url: row.url, body: row.body };
}

/** Begins a delivery; of two concurrent ones the first id and body stand. Does nothing when no URL is kept. */
export async function openDelivery(
  sql: SqlClient,
  delivery: { id: string; queueId: string; event: WebhookEvent; body: string },
): Promise<void> {
  const { id, queueId, event, body } = delivery;
  await sql.query({
    name: 'open-delivery',
    text: `insert into webhook_deliveries (id, queue_id, event, body)
      select $1, $2, $3, $4 where exists (select from job_webhooks where queue_id = $2)
      on conflict (queue_id, event) do nothing`,
    values: [id, queueId, event, body],
  });
}

export interface NewAttempt {
  deliveryId: string;
  step: string;
  at: Date;
  status: number | null;
  error: WebhookError | null;
  durationMs: number;
  /** Time of the next attempt, unless this one settles it; null: there is none. */
  nextPauseMs: number | null;
}

/**
 * Records an attempt and the resulting state. A step that recorded its attempt already adds nothing, and a delivery has
 * a limited number.
 */
export async function recordAttempt(sql: SqlClient, attempt: NewAttempt): Promise<void> {
  const state = deliveryStateAfter(attempt.error, attempt.nextPauseMs === null);
  await sql.query({
    name: 'record-attempt',
    text: `with delivery as (
       update webhook_deliveries set state = $8,
         next_attempt_at = case when $8 = 'pending' then clock_timestamp() + $9::float8 * interval '1 millisecond' end
        where id = $1 and not exists (select from webhook_attempts where delivery_id = $1 and step = $2)
       returning id
     ) insert into webhook_attempts (delivery_id, attempt, step, at, status, error, duration_ms)
       select delivery.id, count(a.attempt) + 1, $2, $3, $4, $5, $6
         from delivery left join webhook_attempts a on a.delivery_id = delivery.id
        group by delivery.id having count(a.attempt) < $7`,
    values: [
      attempt.deliveryId,
      attempt.step,
      attempt.at,
      attempt.status,
      attempt.error,
      attempt.durationMs,
      MAX_WEBHOOK_ATTEMPTS,
      state,
      attempt.nextPauseMs,
    ],
  });
}

export interface RecordedAttempt {
  attempt: number;
  at: Date;
  status: number | null;
  error: WebhookError | null;
  durationMs: number;
}

export interface Delivery {
  id: string;
  queueId: string;
  event: WebhookEvent;
  url: string;
  state: DeliveryState;
  createdAt: Date;
  nextAttemptAt: Date | null;
  attempts: RecordedAttempt[];
}

/** Result of the attempt of a step; undefined when it was not made, or not recorded. */
export async function attemptOf(
  sql: SqlClient,
  made: { deliveryId: string; step: string },
): Promise<Pick<RecordedAttempt, 'status' | 'error'> | undefined> {
  const { rows } = await sql.query<{ status: number | null; error: WebhookError | null }>({
    name: 'find-attempt',
    text: 'select status, error from webhook_attempts where delivery_id = $1 and step = $2',
    values: [made.deliveryId, made.step],
  });
  return rows[0];
}

type RawDelivery = Omit<Delivery, 'attempts'> & {
  attempts: (Omit<RecordedAttempt, 'at'> & { at: string })[];
};

/** Deliveries of a job, oldest first: one per event at most, so they need no pages. */
export async function deliveriesOf(sql: SqlClient, queueId: string): Promise<Delivery[]> {
  const { rows } = await sql.query<RawDelivery>({
    name: 'list-deliveries',
    text: `select d.id, d.queue_id as "queueId", d.event, w.url, d.state, d.created_at as "createdAt",
        d.next_attempt_at as "nextAttemptAt",
        coalesce((select json_agg(json_build_object('attempt', a.attempt, 'at', a.at, 'status', a.status,
            'error', a.error, 'durationMs', a.duration_ms) order by a.attempt)
          from webhook_attempts a where a.delivery_id = d.id), '[]') as attempts
      from webhook_deliveries d join job_webhooks w using (queue_id)
      where d.queue_id = $1 order by d.created_at, d.event`,
    values: [queueId],
  });
  return rows.map((row) => ({
    ...row,
    attempts: row.attempts.map((attempt) => ({ ...attempt, at: new Date(attempt.at) })),
  }));
}
