/** Stored webhooks: their retention, their number, and the recovery of lost workflows. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_WEBHOOK_ATTEMPTS, WEBHOOK_EVENTS, type WebhookEvent } from '../../../domain/webhooks.ts';
import { createAccount } from '../../../infra/postgres/accounts.ts';
import { recordEvents } from '../../../infra/postgres/jobEvents.ts';
import { dropWebhook, keepWebhook, purgeWebhooks, unsentEvents } from '../../../infra/postgres/jobWebhooks.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import {
  attemptOf,
  deliveriesOf,
  findTarget,
  openDelivery,
  recordAttempt,
} from '../../../infra/postgres/webhookDeliveries.ts';
import { webhookSecretOf } from '../../../infra/postgres/webhookSecrets.ts';
import { createDatabase } from '../../harness/services.ts';

const DAY_MS = 86_400_000;
const MONTH = { olderThanMs: 30 * DAY_MS, limit: 100 };

let pool: pg.Pool;
let owner: pg.Pool;
const accountId = randomUUID();

beforeAll(async () => {
  const databaseUrl = await createDatabase();
  pool = openPool({ databaseUrl, applicationName: 'webhooks' });
  const { Pool } = (await import('pg')).default;
  owner = new Pool({ connectionString: databaseUrl, max: 1 });
  await createAccount(pool, { id: accountId, name: 'webhooks', diemDailyAllocation: 0n });
});

afterAll(() => Promise.all([pool.end(), owner.end()]));

interface Made {
  /** Days since the order; days since the end of its job, which still runs if it is undefined. */
  orderedDaysAgo?: number;
  endedDaysAgo?: number;
  events?: readonly WebhookEvent[];
  job?: boolean;
}

async function order({ orderedDaysAgo = 0, endedDaysAgo, events = WEBHOOK_EVENTS, job = true }: Made) {
  const queueId = randomUUID();
  await keepWebhook(pool, { queueId, accountId, url: 'https://example.com/', events });
  await owner.query(`update job_webhooks set created_at = created_at - $2 * interval '1 day' where queue_id = $1`, [
    queueId,
    orderedDaysAgo,
  ]);
  if (!job) return queueId;
  await owner.query(
    `insert into jobs (queue_id, account_id, kind, model_id, provider, state, request_id, price_usd_nano,
       charge_operation_id, charge_id, refund_id, deadline_at, ended_at)
     values ($1, $2, 'audio', 'm', 'p', $3, 'r', 1, $1, 'c', 'f', now(), now() - $4 * interval '1 day')`,
    [queueId, accountId, endedDaysAgo === undefined ? 'submitted' : 'failed', endedDaysAgo ?? null],
  );
  return queueId;
}

async function isKept(queueId: string): Promise<boolean> {
  return (await pool.query('select from job_webhooks where queue_id = $1', [queueId])).rowCount === 1;
}

const delivery = (queueId: string) => ({ id: randomUUID(), queueId, event: 'job.failed', body: '{}' }) as const;

describe('the webhook URL of a job', () => {
  it('is purged with its deliveries 30 days after the end of the job, and not before', async () => {
    const cases: [string, Made, boolean][] = [
      ['ended long ago', { orderedDaysAgo: 40, endedDaysAgo: 31 }, false],
      ['ended lately', { orderedDaysAgo: 40, endedDaysAgo: 29 }, true],
      ['runs on', { orderedDaysAgo: 40 }, true],
      ['never came to be', { orderedDaysAgo: 31, job: false }, false],
      ['may yet come to be', { orderedDaysAgo: 0, job: false }, true],
    ];
    const ids = await Promise.all(cases.map(([, made]) => order(made)));
    const told = delivery(ids[0] ?? '');
    await openDelivery(pool, told);
    await recordAttempt(pool, attempt(told.id, 'one'));
    expect(await purgeWebhooks(pool, MONTH)).toBe(2);
    expect(await purgeWebhooks(pool, MONTH)).toBe(0);
    for (const [index, [what, , kept]] of cases.entries()) expect(await isKept(ids[index] ?? ''), what).toBe(kept);
    expect(await attemptOf(pool, { deliveryId: told.id, step: 'one' })).toBeUndefined();
  });

  it('is deleted with a refused order, and kept with one that became a job', async () => {
    const [refused, taken] = [await order({ job: false }), await order({})];
    await dropWebhook(pool, refused);
    await dropWebhook(pool, taken);
    expect([await isKept(refused), await isKept(taken)]).toEqual([false, true]);
  });
});

function attempt(deliveryId: string, step: string, nextPauseMs: number | null = 5_000) {
  const outcome = { status: 500, error: 'refused', durationMs: 3 } as const;
  return { deliveryId, step, at: new Date(), ...outcome, nextPauseMs };
}

describe('a delivery', () => {
  it('is started once, with its first id and body', async () => {
    const queueId = await order({ endedDaysAgo: 0 });
    const [first, second] = [delivery(queueId), delivery(queueId)];
    await Promise.all([openDelivery(pool, first), openDelivery(pool, first)]);
    await openDelivery(pool, { ...second, body: '{"other":1}' });
    expect(await findTarget(pool, { queueId, event: 'job.failed' })).toMatchObject({
      id: first.id,
      body: '{}',
    });
  });

  it('is not started without a stored URL', async () => {
    const queueId = randomUUID();
    await openDelivery(pool, delivery(queueId));
    expect(await findTarget(pool, { queueId, event: 'job.failed' })).toBeUndefined();
  });

  it('has one attempt per step, however often it is recorded, and says when the next one is due', async () => {
    const queueId = await order({ endedDaysAgo: 0 });
    const { id } = delivery(queueId);
    await openDelivery(pool, { ...delivery(queueId), id });
    for (const step of ['run 1', 'run 1', 'run 2']) await recordAttempt(pool, attempt(id, step));
    const [pending] = await deliveriesOf(pool, queueId);
    expect(pending?.state).toBe('pending');
    expect(pending?.nextAttemptAt?.getTime()).toBeGreaterThan(Date.now() + 3_000);
    expect(pending?.attempts.map((each) => [each.attempt, each.status])).toEqual([
      [1, 500],
      [2, 500],
    ]);
    await recordAttempt(pool, attempt(id, 'run 3', null));
    const [over] = await deliveriesOf(pool, queueId);
    expect([over?.state, over?.nextAttemptAt]).toEqual(['failed', null]);
  });

  it('has no more attempts than its limit', async () => {
    const queueId = await order({ endedDaysAgo: 0 });
    const told = delivery(queueId);
    await openDelivery(pool, told);
    for (let step = 0; step < MAX_WEBHOOK_ATTEMPTS + 3; step += 1) {
      await recordAttempt(pool, attempt(told.id, String(step)));
    }
    expect((await deliveriesOf(pool, queueId))[0]?.attempts.length).toBe(MAX_WEBHOOK_ATTEMPTS);
  });
});

describe('events without a delivery', () => {
  it('are found after the time that their workflow has: only subscribed ones', async () => {
    const page = { graceMs: 60_000, withinMs: 7 * DAY_MS, limit: 100, after: undefined };
    const past = new Date(Date.now() - 120_000).toISOString();
    const told = await order({ endedDaysAgo: 0 });
    const untold = await order({ endedDaysAgo: 0 });
    const unwanted = await order({ endedDaysAgo: 0, events: ['job.stored'] });
    const fresh = await order({ endedDaysAgo: 0 });
    const old = await order({ endedDaysAgo: 0, orderedDaysAgo: 8 });
    for (const queueId of [told, untold, unwanted, old]) {
      await recordEvents(pool, queueId, [
        { event: 'failed', at: past },
        { event: 'refunded', at: past },
      ]);
    }
    await recordEvents(pool, fresh, [{ event: 'failed' }]);
    await openDelivery(pool, delivery(told));
    const found = await unsentEvents(pool, page);
    expect(found).toMatchObject([{ queueId: untold, accountId, event: 'job.failed' }]);
    expect(await unsentEvents(pool, { ...page, after: found[0] })).toEqual([]);
  });
});

describe('the webhook secret of an account', () => {
  it('is created once, also for concurrent requests', async () => {
    const secrets = await Promise.all(Array.from({ length: 8 }, () => webhookSecretOf(pool, accountId)));
    expect(new Set(secrets.map(({ secret }) => secret.toString('hex'))).size).toBe(1);
  });
});
