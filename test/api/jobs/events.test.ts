import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { LOOK_EVERY_MS } from '../../../api/queue/jobWatch.ts';
import type { Sql } from '../../../infra/postgres/pool.ts';
import { holdTimers } from '../../harness/heldTimers.ts';
import { type Payer, payer } from '../billing/usageWorld.ts';
import { startApi, type TestApi } from '../startApi.ts';
import {
  acceptJob,
  acknowledgeJob,
  type EventStream,
  failJob,
  openEvents,
  PRICE,
  progressJob,
  type SeenEvent,
  storeJob,
  submitJob,
} from './jobsWorld.ts';

let api: TestApi;
let other: TestApi;
let sql: Sql;
let who: Payer;
beforeAll(async () => {
  api = await startApi();
  other = await startApi({ environment: api.environment });
  sql = api.opened.dependencies.core.sql;
  who = await payer(api);
});
afterAll(async () => {
  await other?.stop();
  await api?.stop();
});

function watch(queueId: string, lastEventId?: string | number, from: TestApi = api): Promise<EventStream> {
  return openEvents(from.origin, {
    queueId,
    secret: who.secret,
    ...(lastEventId === undefined ? {} : { lastEventId }),
  });
}

const nameOf = ({ event, data }: SeenEvent) =>
  event === 'timeline' ? `timeline ${data.event}` : `${event} ${event === 'progress' ? data.progress : data.state}`;

/** Statements from acceptance to a stored output, each in its own commit. */
const STEPS: ((queueId: string) => Promise<void>)[] = [
  (id) => submitJob(sql, id),
  (id) => acknowledgeJob(sql, id),
  (id) => progressJob(sql, id, 10),
  (id) => progressJob(sql, id, 60),
  (id) => progressJob(sql, id, 60),
  (id) => storeJob(sql, id),
];
const STORY = [
  'state accepted',
  'timeline measured',
  'timeline charged',
  'state submitted',
  'timeline submitted',
  'timeline acknowledged',
  'progress 10',
  'progress 60',
  'state stored',
  'timeline stored',
  'end stored',
];

async function storedJob(): Promise<string> {
  const queueId = await acceptJob(sql, who);
  for (const step of STEPS) await step(queueId);
  return queueId;
}

describe('GET /jobs/{queue_id}/events', () => {
  it('sends the past, then each change soon after its commit, in order, and ends when the job is over', async () => {
    const looks = holdTimers(LOOK_EVERY_MS);
    onTestFinished(() => looks.release());
    const queueId = await acceptJob(sql, who);
    const stream = await watch(queueId);
    expect(stream.headers['content-type']).toBe('text/event-stream');
    await expect.poll(() => stream.events().map(nameOf)).toEqual(STORY.slice(0, 3));
    for (const [index, step] of STEPS.entries()) {
      const before = stream.events().length;
      await step(queueId);
      // The second report of the same percentage is no change. The fallback poll is suspended.
      if (index !== 4) await expect.poll(() => stream.events().length, { interval: 5 }).toBeGreaterThan(before);
    }
    await stream.ended;
    const told = stream.events();
    expect(told.map(nameOf)).toEqual(STORY);
    expect(told.map(({ id }) => id)).toEqual([2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 21]);
    expect(told.map(({ data }) => data.progress)).toEqual([...Array(6).fill(null), 10, ...Array(4).fill(60)]);
    expect(told.map(({ data }) => data.queue_id)).toEqual(told.map(() => queueId));
    expect(api.opened.dependencies.jobs.jobWatch.open).toBe(0);
  });

  it('shows the charge and the refund with their ledger ids', async () => {
    const queueId = await acceptJob(sql, who);
    await submitJob(sql, queueId);
    await failJob(sql, queueId);
    const stream = await watch(queueId);
    await stream.ended;
    const amounts = [{ currency: 'USD', amount: Number(PRICE) / 1e9 }];
    const told = stream.events();
    const charged = told.find(({ data }) => data.event === 'charged');
    const refunded = told.find(({ data }) => data.event === 'refunded');
    expect(charged?.data).toMatchObject({ ledger_id: queueId, amounts, state: 'accepted' });
    expect(refunded?.data).toMatchObject({ ledger_id: queueId, amounts, state: 'failed' });
    expect(told.map(nameOf).slice(-4)).toEqual(['state failed', 'timeline failed', 'timeline refunded', 'end failed']);
    expect(told.find(({ data }) => data.event === 'submitted')?.data.amounts).toEqual([]);
    const shown = (await (await api.call(`/jobs/${queueId}`, { key: who.secret })).json()) as {
      charged: unknown;
      refunded: unknown;
      timeline: { event: string; ledger_id: string | null; amounts: unknown }[];
    };
    expect([shown.charged, shown.refunded]).toEqual([amounts, amounts]);
    for (const event of ['charged', 'refunded']) {
      const entry = shown.timeline.find((each) => each.event === event);
      expect(entry).toMatchObject({ ledger_id: queueId, amounts });
    }
  });

  it('repeats and skips nothing when it is cut after any event and resumed at either process', async () => {
    const queueId = await storedJob();
    const whole = await watch(queueId);
    await whole.ended;
    const all = whole.events();
    for (const [index, { id }] of all.entries()) {
      const rest = await watch(queueId, id, index % 2 === 0 ? api : other);
      await rest.ended;
      expect(rest.status).toBe(index === all.length - 1 ? 204 : 200);
      expect(rest.events()).toEqual(all.slice(index + 1));
    }
  });

  it('loses nothing for a client that is cut while the job continues', async () => {
    const queueId = await acceptJob(sql, who);
    const told: SeenEvent[] = [];
    for (const [index, step] of STEPS.entries()) {
      const stream = await watch(queueId, told.at(-1)?.id, index % 2 === 0 ? api : other);
      if (index % 3 === 0) await step(queueId);
      else stream.cut();
      if (index % 3 !== 0) await step(queueId);
      else await expect.poll(() => stream.events().length).toBeGreaterThan(0);
      stream.cut();
      told.push(...stream.events());
    }
    const last = await watch(queueId, told.at(-1)?.id);
    await last.ended;
    expect([...told, ...last.events()].map(nameOf)).toEqual(STORY);
  });

  it('numbers concurrent changes of one job without gaps in the order of their commits', async () => {
    const queueId = await acceptJob(sql, who);
    await submitJob(sql, queueId);
    const stream = await watch(queueId);
    const percents = Array.from({ length: 60 }, (_, index) => index + 1);
    await Promise.all([...percents.map((each) => progressJob(sql, queueId, each)), acknowledgeJob(sql, queueId)]);
    await Promise.all([storeJob(sql, queueId), acknowledgeJob(sql, queueId), storeJob(sql, queueId)]);
    await stream.ended;
    const told = stream.events();
    expect(told.slice(0, -1).map(({ id }) => id)).toEqual(told.slice(0, -1).map((_, index) => 2 * index + 2));
    const progress = told.filter(({ event }) => event === 'progress').map(({ data }) => data.progress as number);
    expect(progress.at(-1)).toBe(60);
    expect(progress).toEqual([...progress].sort((left, right) => left - right));
    expect(told.map(nameOf).filter((name) => name === 'timeline acknowledged')).toHaveLength(1);
  });

  it('sends a deleted job from its beginning to its deletion', async () => {
    const queueId = await storedJob();
    await sql.query(`update jobs set state = 'deleted', ended_at = now() where queue_id = $1`, [queueId]);
    const stream = await watch(queueId);
    await stream.ended;
    expect(stream.events().map(nameOf)).toEqual([...STORY.slice(0, -1), 'state deleted', 'end deleted']);
  });

  it('loses nothing when the listening connection is killed repeatedly', async () => {
    const queueId = await acceptJob(sql, who);
    const streams = [await watch(queueId), await watch(queueId, undefined, other)];
    const operator = new pg.Client({ connectionString: api.environment.DATABASE_URL });
    await operator.connect();
    let killed = 0;
    for (const step of STEPS) {
      const { rowCount } = await operator.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'farebox-changes' and datname = current_database()`);
      killed += rowCount ?? 0;
      await step(queueId);
    }
    expect(killed).toBeGreaterThanOrEqual(2);
    await operator.end();
    for (const stream of streams) {
      await stream.ended;
      expect(stream.events().map(nameOf)).toEqual(STORY);
    }
  });

  it('sends a change without an announcement within seconds', async () => {
    const queueId = await acceptJob(sql, who);
    const stream = await watch(queueId);
    const operator = new pg.Client({ connectionString: api.environment.DATABASE_URL });
    await operator.connect();
    await operator.query(`insert into job_changes (queue_id, seq, kind, value) values ($1, 4, 'progress', '7')`, [
      queueId,
    ]);
    await operator.end();
    await expect.poll(() => stream.events().map(nameOf).at(-1)).toBe('progress 7');
    stream.cut();
  });

  it.each<[string, string]>([
    ['revoked', `update api_keys set revoked_at = now() where id = $1`],
    ['past its expiry', `update api_keys set expires_at = now() where id = $1`],
    [
      'a child of a revoked key',
      `update api_keys set revoked_at = now() where id = (select parent_id from api_keys where id = $1)`,
    ],
    [
      'of an account that was closed',
      `update accounts set status = 'suspended' where id = (select account_id from api_keys where id = $1)`,
    ],
  ])('ends when the key becomes %s', async (_, change) => {
    const owner = await payer(api);
    const { secret, keyId } = await api.newKey('INFERENCE', {
      accountId: owner.accountId,
      parentId: owner.keyId,
    });
    const queueId = await acceptJob(sql, { accountId: owner.accountId, keyId });
    const stream = await openEvents(api.origin, { queueId, secret });
    await expect.poll(() => stream.events().length).toBe(3);
    await sql.query(change, [keyId]);
    await submitJob(sql, queueId);
    await stream.ended;
    expect(stream.events()).toHaveLength(3);
    expect(stream.text()).not.toContain('retry');
  });

  it('refuses jobs of another account, unknown jobs and invalid ids like other routes', async () => {
    const queueId = await acceptJob(sql, who);
    const stranger = await payer(api);
    const foreign = await openEvents(api.origin, { queueId, secret: stranger.secret });
    const unknown = await watch('3f0f7c0e-0000-4000-8000-000000000000');
    const nonsense = await watch('nonsense');
    for (const stream of [foreign, unknown, nonsense]) {
      await stream.ended;
      expect([stream.status, stream.text()]).toEqual([400, '{"error":"Request ID is invalid."}']);
    }
    expect((await api.call(`/jobs/${queueId}/events`)).status).toBe(402);
  });

  it.each(['-1', '0', '1e1', '2.5', '0x2', 'abc', '2, 4', '٢', '999999999', '9999999999', '1', '7', '8', '2-1'])(
    'refuses Last-Event-ID %j, which no event of this job has, by name',
    async (lastEventId) => {
      const queueId = await acceptJob(sql, who);
      const stream = await watch(queueId, Buffer.from(lastEventId).toString('latin1'));
      await stream.ended;
      expect(stream.status).toBe(400);
      expect(JSON.parse(stream.text()).details).toHaveProperty('Last-Event-ID');
      expect(api.opened.dependencies.jobs.jobWatch.open).toBe(0);
    },
  );

  it('ignores an empty Last-Event-ID, and answers HEAD without waiting for the job', async () => {
    const queueId = await acceptJob(sql, who);
    const stream = await watch(queueId, '');
    await expect.poll(() => stream.events().map(nameOf)).toEqual(STORY.slice(0, 3));
    stream.cut();
    const head = await api.call(`/jobs/${queueId}/events`, { method: 'HEAD', key: who.secret });
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    await expect.poll(() => api.opened.dependencies.jobs.jobWatch.open).toBe(0);
  });
});
