/** Ends of a paid job over HTTP: cancelled, repeated, refused and listed (JOB-1 to JOB-9). */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { UPKEEP_WORKFLOW, type UpkeepWorkflow } from '../../workflows/contract.ts';
import { services } from '../harness/services.ts';
import { severable } from '../harness/severable.ts';
import type { Reply } from './client.ts';
import { eventually } from './deployment.ts';
import { complete, outcomeOf, queueFile, queueIdOf, retrieve, untilState } from './orders.ts';
import { toneWav } from './recordings.ts';
import {
  CLOUD,
  cloud,
  configuration,
  expectAudio,
  expectNothingLeft,
  farebox,
  ISO_TIME,
  order,
  short,
  stored,
  useVoiceChangerWorld,
} from './voiceChangerWorld.ts';

useVoiceChangerWorld();

describe('cancel', () => {
  it('refunds everything before the output is stored', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const job = await order('endless-voice');
    expect(await farebox.moneyOf(farebox.account)).toBe(before - 50_000_000n);
    const cancelled = await api.post(`/jobs/${job.queueId}/cancel`);
    expect(cancelled.body).toMatchObject({ state: 'cancelled', credits_refunded: true });
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    const again = await api.post(`/jobs/${job.queueId}/cancel`);
    expect([again.status, again.body.refund_id]).toEqual([200, cancelled.body.refund_id]);
    const verdict = await retrieve(api, job);
    expect([verdict.status, verdict.body.credits_refunded]).toEqual([404, true]);
    expect((await complete(api, job)).body).toEqual({ success: true });
    await expectNothingLeft();
  });

  it('answers 409 without a refund once the output is stored', async () => {
    const { api } = farebox.account;
    const job = await stored('quick-voice');
    const before = await farebox.moneyOf(farebox.account);
    const refused = await api.post(`/jobs/${job.queueId}/cancel`);
    expect([refused.status, typeof refused.body.error]).toEqual([409, 'string']);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    expect((await retrieve(api, job)).status).toBe(200);
    await complete(api, job);
    expect((await api.post(`/jobs/${job.queueId}/cancel`)).status).toBe(409);
  });
});

describe('a model under an alias', () => {
  it('is ordered, fetched and completed by its alias or id, and the job has the id', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const job = await stored('foreign-name');
    expect(await farebox.moneyOf(farebox.account)).toBe(before - 50_000_000n);
    expect((await api.get(`/jobs/${job.queueId}`)).body.model).toBe('named-voice');
    for (const model of ['foreign-name', 'named-voice']) {
      const reply = await retrieve(api, { ...job, model });
      expect([reply.status, reply.headers.get('x-service-model-id')]).toEqual([200, 'named-voice']);
    }
    expect((await retrieve(api, { ...job, model: 'quick-voice' })).status).toBe(400);
    expect((await complete(api, job)).body).toEqual({ success: true });
    await expectNothingLeft();
  });
});

describe('a dry run', () => {
  it.each([
    ['a second', 1, 0.05],
    ['a minute and a bit', 61, 0.1],
  ])('returns the price of %s without making a job', async (_what, seconds, usd) => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const call = { headers: { 'x-service-dry-run': 'true' } };
    const reply = await queueFile(api, { model: 'quick-voice', source: toneWav(seconds), call });
    expect([reply.status, reply.body]).toEqual([200, { object: 'dry_run', cost: { usd, diem: usd } }]);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    await expectNothingLeft();
  });

  it('refuses what an order would refuse', async () => {
    const call = { headers: { 'x-service-dry-run': 'true' } };
    const source = Buffer.from('no sound');
    const reply = await queueFile(farebox.account.api, { model: 'quick-voice', source, call });
    expect([reply.status, typeof reply.body.error]).toEqual([400, 'string']);
  });
});

describe('GET /jobs', () => {
  it('shows a job with the times of its events and its ledger ids', async () => {
    const { api } = farebox.account;
    const job = await stored('slow-voice');
    await retrieve(api, job);
    await complete(api, job);
    const { body } = await eventually(async () => {
      const reply = await api.get(`/jobs/${job.queueId}`);
      return reply.body.state === 'deleted' ? reply : undefined;
    });
    expect(body).toMatchObject({
      queue_id: job.queueId,
      object: 'job',
      model: 'slow-voice',
      price_usd: 0.05,
    });
    const timeline = body.timeline as { event: string; at: string; ledger_id: string | null }[];
    expect(timeline.map(({ event }) => event).sort()).toEqual(
      ['measured', 'charged', 'submitted', 'acknowledged', 'stored', 'delivered', 'completed', 'deleted'].sort(),
    );
    for (const { at } of timeline) expect(at).toMatch(ISO_TIME);
    expect(timeline.map(({ at }) => at)).toEqual(timeline.map(({ at }) => at).sort());
    expect(timeline.find(({ event }) => event === 'charged')?.ledger_id).toBe(body.charge_id);
  });

  it("lists the account's own jobs in pages, newest first, and not to others", async () => {
    const { api } = farebox.account;
    const mine: string[] = [];
    for (let count = 0; count < 3; count += 1) mine.unshift((await stored('quick-voice')).queueId);
    const first = await api.get('/jobs?limit=2');
    const rest = await api.get(`/jobs?limit=100&cursor=${String(first.body.next_cursor)}`);
    const ids = (reply: Reply) => (reply.body.data as { queue_id: string }[]).map((job) => job.queue_id);
    expect(ids(first)).toEqual(mine.slice(0, 2));
    expect(ids(rest)[0]).toBe(mine[2]);
    expect(rest.body.next_cursor).toBeNull();
    expect(ids(await farebox.other.api.get('/jobs'))).toEqual([]);
    expect((await farebox.other.api.get(`/jobs/${mine[0]}`)).status).toBe(400);
    for (const query of ['cursor=nonsense', 'limit=0', 'limit=101', 'limit=ten', 'page=2']) {
      expect((await api.get(`/jobs?${query}`)).status, query).toBe(400);
    }
    for (const queueId of mine) await complete(api, { model: 'quick-voice', queueId });
  });
});

describe('Idempotency-Key', () => {
  it('makes one order of equal requests, sent later or at once', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const ask = (key: string, fields = {}) =>
      queueFile(api, {
        model: 'quick-voice',
        source: short,
        fields,
        call: { headers: { 'idempotency-key': key } },
      });
    const replies = await Promise.all(Array.from({ length: 6 }, () => ask('order-1')));
    const later = await ask('order-1');
    const ids = new Set([...replies, later].map(queueIdOf));
    expect(ids.size).toBe(1);
    expect(later.headers.get('idempotent-replayed')).toBe('true');
    expect(later.body).toEqual(replies[0]?.body);
    expect(replies.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(50_000_000n);
    const other = await ask('order-1', { voice: 'bass' });
    expect([other.status, typeof other.body.error]).toEqual([400, 'string']);
    const otherFile = await queueFile(api, {
      model: 'quick-voice',
      source: toneWav(3),
      call: { headers: { 'idempotency-key': 'order-1' } },
    });
    expect(otherFile.status).toBe(400);
    for (const key of ['', 'a b', 'ü', 'x'.repeat(256), '../1']) {
      const reply = await ask(key).catch(() => undefined);
      expect(reply?.status ?? 400, key).toBe(400);
    }
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(50_000_000n);
    const [queueId = ''] = ids;
    await untilState(api, queueId, 'stored');
    await complete(api, { model: 'quick-voice', queueId });
    await expectNothingLeft();
  });

  it('accepts a new order after an outage ended the first request', async () => {
    const way = await severable(services().temporal.address);
    const cutOff = await farebox.anotherApi(configuration, { TEMPORAL_ADDRESS: way.address });
    const before = await farebox.moneyOf(farebox.account);
    const call = { headers: { 'idempotency-key': 'through-the-outage' } };
    const ask = () => queueFile(cutOff.client, { model: 'slow-voice', source: short, call });
    way.sever();
    const given = await ask();
    expect([given.status, given.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    way.mend();
    const job = { model: 'slow-voice', queueId: queueIdOf(await ask()) };
    expect((await retrieve(farebox.account.api, job)).status).toBe(200);
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(50_000_000n);
    await complete(farebox.account.api, job);
    await expectNothingLeft();
    await cutOff.stop();
    way.close();
  });

  it('charges nothing for an order whose source cannot be stored, and accepts the next one', async () => {
    const endpoint = new URL(farebox.environment.S3_ENDPOINT ?? '');
    const way = await severable(endpoint.host);
    const cutOff = await farebox.anotherApi(configuration, { S3_ENDPOINT: `http://${way.address}` });
    const before = await farebox.moneyOf(farebox.account);
    const call = { headers: { 'idempotency-key': `no-storage-${randomUUID()}` } };
    const ask = () => queueFile(cutOff.client, { model: 'quick-voice', source: short, call });
    way.sever();
    const given = await ask();
    expect(given.status).toBeGreaterThanOrEqual(500);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    way.mend();
    const reply = await eventually(async () => {
      const next = await ask();
      return next.status === 200 ? next : undefined;
    });
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(50_000_000n);
    await untilState(farebox.account.api, queueIdOf(reply), 'stored');
    await complete(farebox.account.api, { model: 'quick-voice', queueId: queueIdOf(reply) });
    await expectNothingLeft();
    await cutOff.stop();
    way.close();
  });

  it('evaluates an order again after a refusal', async () => {
    const { api } = farebox.account;
    const headers = { 'idempotency-key': `retry-${randomUUID()}` };
    const noise = Buffer.from('this is no recording at all, however often it is sent');
    const refused = await queueFile(api, { model: 'quick-voice', source: noise, call: { headers } });
    const again = await queueFile(api, { model: 'quick-voice', source: noise, call: { headers } });
    expect([refused.status, again.status]).toEqual([400, 400]);
    expect(again.headers.get('idempotent-replayed')).toBeNull();
    await expectNothingLeft();
  });
});

describe('a provider that does not deliver', () => {
  it('causes a refund, and its error is repeated word for word', async () => {
    const { api } = farebox.account;
    const verdicts: [string, number][] = [
      ['prudish-voice', 422],
      ['failing-voice', 500],
      ['garbled-voice', 500],
    ];
    for (const [model, status] of verdicts) {
      const before = await farebox.moneyOf(farebox.account);
      const job = await order(model);
      const verdict = await outcomeOf(api, job);
      expect(verdict.status, model).toBe(status);
      expect(verdict.body).toEqual({ error: expect.any(String), credits_refunded: true });
      const repeated = await retrieve(api, job);
      expect([repeated.status, repeated.body]).toEqual([verdict.status, verdict.body]);
      expect(await farebox.moneyOf(farebox.account)).toBe(before);
      expect((await complete(api, job)).body).toEqual({ success: true });
      const { body } = await api.get(`/jobs/${job.queueId}`);
      const events = (body.timeline as { event: string; ledger_id: string | null }[]).map((entry) => entry.event);
      expect(events).toEqual(expect.arrayContaining(['measured', 'charged', 'submitted', 'failed', 'refunded']));
      expect(body).toMatchObject({ state: 'failed', credits_refunded: true });
    }
    await expectNothingLeft();
  });
});

const reconcile = () =>
  farebox.temporal.workflow.execute<UpkeepWorkflow>(UPKEEP_WORKFLOW, {
    workflowId: `reconcile-${randomUUID()}`,
    taskQueue: 'jobs',
    args: ['reconcileJobs'],
  });

describe('a job past its deadline whose workflow is still open', () => {
  it('is refunded, and a later output is not kept', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const job = await order('late-voice');
    await untilState(api, job.queueId, 'submitted');
    await farebox.pool.query(`update jobs set deadline_at = deadline_at - interval '1 hour' where queue_id = $1`, [
      job.queueId,
    ]);
    await reconcile();
    expect(await farebox.openWorkflows()).toContain(job.queueId);
    expect((await api.get(`/jobs/${job.queueId}`)).body).toMatchObject({
      state: 'timed_out',
      credits_refunded: true,
    });
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    const isOver = async () => ((await farebox.openWorkflows()).includes(job.queueId) ? undefined : true);
    await eventually(isOver);
    expect((await retrieve(api, job)).status).toBe(504);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    await expectNothingLeft();
  });
});

describe('a job whose workflow was terminated by hand', () => {
  const terminate = (queueId: string) => farebox.temporal.workflow.getHandle(queueId).terminate('by hand');

  it('is refunded after its deadline, and not before', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const job = await order('endless-voice');
    await terminate(job.queueId);
    await reconcile();
    expect(await farebox.moneyOf(farebox.account)).toBe(before - 50_000_000n);
    await farebox.pool.query(`update jobs set deadline_at = deadline_at - interval '1 hour' where queue_id = $1`, [
      job.queueId,
    ]);
    await reconcile();
    expect((await api.get(`/jobs/${job.queueId}`)).body).toMatchObject({
      state: 'timed_out',
      credits_refunded: true,
    });
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    await expectNothingLeft();
  });

  it('keeps its stored media until the client completes it', async () => {
    const { api } = farebox.account;
    const job = await stored('quick-voice');
    await terminate(job.queueId);
    await reconcile();
    expect((await retrieve(api, job)).headers.get('content-type')).toBe('audio/wav');
    expect((await complete(api, job)).body).toEqual({ success: false });
    await reconcile();
    expect((await complete(api, job)).body).toEqual({ success: true });
    expect((await retrieve(api, job)).status).toBe(404);
    await expectNothingLeft();
  });
});

describe('the cloud voice changer', () => {
  it('is offered, charged and delivered end to end', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const job = await order(CLOUD, { voice: 'Roger', seed: '5' });
    expectAudio(await outcomeOf(api, job), CLOUD);
    expect(cloud.accepted.at(-1)).toMatchObject({ seed: 5, audioBytes: short.length });
    expect((await complete(api, job)).body).toEqual({ success: true });
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(350_000_000n);
    await expectNothingLeft();
  });

  it('fails with a refund for a voice id unknown to its service', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const job = await order(CLOUD, { voice: 'nobodyHasThisVoice00' });
    const verdict = await outcomeOf(api, job);
    expect([verdict.status, verdict.body.credits_refunded]).toEqual([400, true]);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    await expectNothingLeft();
  });

  it('is offline without its key, and closed to keys limited to private models', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const offline = await queueFile(api, { model: 'keyless-voice', source: short });
    expect([offline.status, typeof offline.body.error]).toEqual([503, 'string']);
    const key = await farebox.newKey({ modelPrivacy: 'PRIVATE_ONLY' });
    const closed = await queueFile(api, { model: CLOUD, source: short, call: { key } });
    expect(closed.status).toBe(403);
    expect(closed.body.error).toContain('PRIVATE_ONLY');
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    await expectNothingLeft();
  });
});

it('leaves no workflow open, no object in storage and no file behind', async () => {
  await sleep(200);
  expect(await farebox.openWorkflows()).toEqual([]);
  expect(await farebox.objects()).toEqual([]);
  expect(farebox.temporaryFiles()).toEqual([]);
});
