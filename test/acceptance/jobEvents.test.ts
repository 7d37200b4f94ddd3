/** Alternatives to webhooks: events, waiting responses, and a time limit per job. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { openEvents } from '../api/jobs/jobsWorld.ts';
import type { Reply } from './client.ts';
import { type Deployment, openDeployment } from './deployment.ts';
import { simulatedModels } from './models.ts';
import { complete, queueFile, queueIdOf, retrieve, stateOf, untilState } from './orders.ts';
import { toneWav } from './recordings.ts';

const source = toneWav(2);
let farebox: Deployment;
let second: Awaited<ReturnType<Deployment['anotherApi']>>;

beforeAll(async () => {
  const simulated = simulatedModels({
    'quick-voice': {},
    'slow-voice': { latencyMs: 3_000 },
    'endless-voice': { outcome: 'hang', latencyMs: 600_000 },
    'failing-voice': { outcome: 'failed', latencyMs: 1_500 },
  });
  const configuration = {
    providers: { simulated: simulated.provider },
    models: simulated.models,
    jobs: { deadlineMinutes: 10, pollFirstMs: 100, pollLongestMs: 300 },
  };
  farebox = await openDeployment({ configuration });
  second = await farebox.anotherApi(configuration);
}, 180_000);
afterAll(async () => {
  await second?.stop();
  await farebox?.close();
});
afterEach(async () => {
  expect(await checkLedger(farebox.pool)).toEqual([]);
});

function order(model: string, headers: Record<string, string> = {}): Promise<Reply> {
  return queueFile(farebox.account.api, { model, source, call: { headers } });
}

async function timed<T>(work: Promise<T>): Promise<[T, number]> {
  const startedAt = performance.now();
  return [await work, performance.now() - startedAt];
}

async function transfersOf(queueId: string): Promise<Record<string, number>> {
  const { rows } = await farebox.pool.query<{ kind: string; count: number }>(
    `select kind, count(distinct operation_id)::int as count from transfers where operation_id = $1 group by kind`,
    [queueId],
  );
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
}

describe('the events of a job', () => {
  it("come from any process in the order of the job's states", async () => {
    const queueId = queueIdOf(await order('slow-voice'));
    const secret = farebox.account.inferenceKey;
    const origins = [farebox.origin, second.baseUrl.replace('/api/v1', '')];
    const streams = await Promise.all(origins.map((origin) => openEvents(origin, { queueId, secret })));
    await Promise.all(streams.map(({ ended }) => ended));
    const [told = [], elsewhere] = streams.map((stream) => stream.events());
    expect(elsewhere).toEqual(told);
    const ids = told.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort((left, right) => left - right));
    const states = told.filter(({ event }) => event === 'state').map(({ data }) => data.state);
    expect(states).toEqual(['accepted', 'submitted', 'stored']);
    const timeline = told.filter(({ event }) => event === 'timeline').map(({ data }) => data.event);
    expect(timeline).toEqual(['measured', 'charged', 'submitted', 'acknowledged', 'stored']);
    const progress = told.filter(({ event }) => event === 'progress').map(({ data }) => Number(data.progress));
    expect(progress.length).toBeGreaterThan(0);
    expect(progress).toEqual([...progress].sort((left, right) => left - right));
    expect(told.at(-1)).toMatchObject({ event: 'end', data: { state: 'stored', queue_id: queueId } });
    await complete(farebox.account.api, { model: 'slow-voice', queueId });
  });

  it('show the charge of a failed job and an equal refund', async () => {
    const queueId = queueIdOf(await order('failing-voice'));
    const stream = await openEvents(farebox.origin, { queueId, secret: farebox.account.inferenceKey });
    await stream.ended;
    const told = stream.events();
    const [charged, refunded] = ['charged', 'refunded'].map((name) => told.find(({ data }) => data.event === name));
    expect(charged?.data.ledger_id).toBe(queueId);
    expect(charged?.data.amounts).not.toEqual([]);
    expect(refunded?.data.amounts).toEqual(charged?.data.amounts);
    expect(told.at(-1)).toMatchObject({ event: 'end', data: { state: 'failed' } });
  });
});

describe('Prefer: wait', () => {
  it('answers an order as documented once the output exists', async () => {
    const reply = await order('slow-voice', { prefer: 'wait=30' });
    expect(Object.keys(reply.body).sort()).toEqual(['duration_seconds', 'model', 'queue_id', 'status']);
    expect(reply.headers.get('preference-applied')).toBe('wait=30');
    expect(reply.headers.get('x-service-job-state')).toBe('stored');
    const job = { model: 'slow-voice', queueId: queueIdOf(reply) };
    expect((await retrieve(farebox.account.api, job)).headers.get('content-type')).toBe('audio/wav');
    await complete(farebox.account.api, job);
  });

  it('reports a failed job on an order without making the order an error', async () => {
    const reply = await order('failing-voice', { prefer: 'wait=30' });
    expect([reply.status, reply.headers.get('x-service-job-state')]).toEqual([200, 'failed']);
  });

  it('answers when the wait is over, and at once without it', async () => {
    const [waited, waitedMs] = await timed(order('endless-voice', { prefer: 'wait=2' }));
    expect(waitedMs).toBeGreaterThan(1_900);
    expect(waited.headers.get('x-service-job-state')).toMatch(/accepted|submitted/);
    const job = { model: 'endless-voice', queueId: queueIdOf(waited) };
    const [progress, ms] = await timed(retrieveWaiting(job, 'wait=1'));
    expect(ms).toBeGreaterThan(950);
    expect(progress.body.status).toBe('PROCESSING');
    expect(progress.headers.get('preference-applied')).toBe('wait=1');
    const ignored = await retrieveWaiting(job, 'wait=soon');
    expect(ignored.headers.get('preference-applied')).toBeNull();
    await farebox.account.api.post(`/jobs/${job.queueId}/cancel`);
  });

  it('returns the media or the error in one answer of retrieve', async () => {
    const job = { model: 'slow-voice', queueId: queueIdOf(await order('slow-voice')) };
    const media = await retrieveWaiting(job, 'wait=30');
    expect([media.status, media.headers.get('content-type')]).toEqual([200, 'audio/wav']);
    expect(media.bytes.length).toBeGreaterThan(100);
    await complete(farebox.account.api, job);
    const failing = { model: 'failing-voice', queueId: queueIdOf(await order('failing-voice')) };
    const verdict = await retrieveWaiting(failing, 'wait=30');
    expect([verdict.status, verdict.body.credits_refunded]).toEqual([500, true]);
    expect(verdict.headers.get('preference-applied')).toBe('wait=30');
  });

  function retrieveWaiting({ model, queueId }: { model: string; queueId: string }, prefer: string) {
    const json = { model, queue_id: queueId };
    return farebox.account.api.post('/audio/voice-changer/retrieve', { json, headers: { prefer } });
  }
});

describe('Cancel-After', () => {
  it('cancels a longer job and refunds it once', async () => {
    const before = await farebox.moneyOf(farebox.account);
    const queueId = queueIdOf(await order('endless-voice', { 'cancel-after': '20s' }));
    expect(await farebox.moneyOf(farebox.account)).toBeLessThan(before);
    await untilState(farebox.account.api, queueId, 'cancelled', 120_000);
    const { body } = await farebox.account.api.get(`/jobs/${queueId}`);
    expect(body).toMatchObject({ state: 'cancelled', credits_refunded: true });
    expect(String(body.error)).toContain('Cancel-After');
    expect(body.refunded).toEqual(body.charged);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    expect(await transfersOf(queueId)).toEqual({ charge: 1, refund: 1 });
  });

  it('does not affect a job that ends in time', async () => {
    const reply = await order('quick-voice', { 'cancel-after': '20', prefer: 'wait=20' });
    expect(reply.headers.get('x-service-job-state')).toBe('stored');
    const queueId = queueIdOf(reply);
    await new Promise((resolve) => setTimeout(resolve, 21_000));
    expect(await stateOf(farebox.account.api, queueId)).toBe('stored');
    expect(await transfersOf(queueId)).toEqual({ charge: 1 });
    await complete(farebox.account.api, { model: 'quick-voice', queueId });
  });

  it.each(['4s', '25h', 'soon', '5m, 6m'])('is refused by name as %j, and nothing is charged', async (header) => {
    const objects = await farebox.objects();
    const before = [await farebox.moneyOf(farebox.account), await farebox.transfers()];
    const reply = await order('quick-voice', { 'cancel-after': header });
    expect(reply.status).toBe(400);
    expect(reply.body.details).toHaveProperty('Cancel-After');
    expect([await farebox.moneyOf(farebox.account), await farebox.transfers()]).toEqual(before);
    const kept = new Set(objects);
    expect((await farebox.objects()).filter((key) => !kept.has(key))).toEqual([]);
  });
});
