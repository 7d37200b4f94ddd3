/** Webhooks of jobs with real processes: signed, once per event, and always delivered in the end. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { UPKEEP_WORKFLOW, type UpkeepWorkflow, webhookWorkflowId } from '../../workflows/contract.ts';
import { runFarebox } from '../cli/runFarebox.ts';
import { type Spawned, spawnWorker } from '../harness/services.ts';
import { longRun } from '../infra/postgres/longRun.ts';
import { read } from './hookReceiver.ts';
import { type HookWorld, openHookWorld, outcomesOf, TOKEN } from './hookWorld.ts';
import { complete, stateOf, untilState } from './orders.ts';

let world: HookWorld;
let secret: string;
const workers: Spawned[] = [];

beforeAll(async () => {
  world = await openHookWorld();
  secret = await world.secretBy('GET', '/webhooks/secret');
});

afterAll(async () => {
  expect(await checkLedger(world.farebox.pool)).toEqual([]);
  await Promise.all(workers.map((worker) => worker.stop()));
  await world.close();
});

describe('a job with a webhook', () => {
  it('reports its output once, signed, with the job as its own route shows it', async () => {
    const hook = `/ok/stored?token=${TOKEN}`;
    const queueId = await world.order({ hook });
    const [message] = await world.arrivals(hook, 1);
    if (!message) throw new Error('nothing came');
    const shown = (await world.farebox.account.api.get(`/jobs/${queueId}`)).body;
    const told = read(secret, message);
    expect(told).toMatchObject({ id: message.id, type: 'job.stored' });
    expect(told.data).toEqual(shown);
    expect(told.data).toMatchObject({
      queue_id: queueId,
      state: 'stored',
      price_usd: 0.05,
      credits_refunded: false,
    });
    expect(told.created_at).toBe(
      (shown.timeline as { event: string; at: string }[]).find((e) => e.event === 'stored')?.at,
    );
    expect(message.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'Farebox' });
    const delivery = await world.attempted(queueId, 1);
    expect(delivery).toEqual({
      id: message.id,
      object: 'webhook_delivery',
      event: 'job.stored',
      url: world.receiver.url(hook),
      state: 'delivered',
      created_at: expect.any(String),
      next_attempt_at: null,
      attempts: [{ attempt: 1, at: expect.any(String), status: 204, error: null, duration_ms: expect.any(Number) }],
    });
    await complete(world.farebox.account.api, { model: 'quick-voice', queueId });
    await untilState(world.farebox.account.api, queueId, 'deleted');
    expect(world.receiver.received.filter((each) => each.path === hook).length).toBe(1);
  });

  it('keeps its URL out of histories, logs and search attributes', async () => {
    const hook = `/ok/quiet?token=${TOKEN}`;
    const queueId = await world.order({ hook });
    await world.attempted(queueId, 1);
    const told = webhookWorkflowId(queueId, 'job.stored');
    const histories = [await world.farebox.historyOf(queueId), await world.farebox.historyOf(told)];
    const described = JSON.stringify(
      await world.farebox.temporal.workflow.getHandle(told).describe(),
      (_name, value) => (typeof value === 'bigint' ? String(value) : value),
    );
    expect(histories.join() + described + world.farebox.api.logs() + world.farebox.worker.logs()).not.toContain(TOKEN);
    expect(histories[1]).not.toContain(world.receiver.host);
  });

  it('shows the operator the result of each attempt, but not the URL', async () => {
    const queueId = await world.order({ hook: `/gone/shown?token=${TOKEN}` });
    const { id } = await world.attempted(queueId, 1);
    const shown = await runFarebox(['jobs', 'show', queueId], world.farebox.environment);
    expect(shown.stdout).toMatch(/job\.stored +gone +1 +410 +gone/);
    const asJson = await runFarebox(['jobs', 'show', queueId, '--json'], world.farebox.environment);
    expect(JSON.parse(asJson.stdout).deliveries).toMatchObject([{ id, attempts: [{ status: 410 }] }]);
    expect(shown.stdout + asJson.stdout).not.toContain(TOKEN);
  });

  it('reports a failure with its refund, a cancellation, and a requested deletion', async () => {
    const { api } = world.farebox.account;
    const failing = await world.order({ model: 'failing-voice', hook: '/ok/failing' });
    const endless = await world.order({ model: 'endless-voice', hook: '/ok/endless' });
    await api.post(`/jobs/${endless}/cancel`);
    const removed = await world.order({ hook: '/ok/removed', events: ['job.deleted', 'job.stored'] });
    await untilState(api, removed, 'stored');
    await complete(api, { model: 'quick-voice', queueId: removed });
    const of = async (hook: string, count: number) =>
      (await world.arrivals(hook, count)).map((each) => read(secret, each));
    expect(await of('/ok/failing', 1)).toMatchObject([
      {
        type: 'job.failed',
        data: { queue_id: failing, credits_refunded: true, refund_id: expect.any(String) },
      },
    ]);
    expect(await of('/ok/endless', 1)).toMatchObject([
      { type: 'job.cancelled', data: { queue_id: endless, state: 'cancelled', credits_refunded: true } },
    ]);
    const both = await of('/ok/removed', 2);
    expect(both.map(({ type }) => type).sort()).toEqual(['job.deleted', 'job.stored']);
    expect(new Set(both.map(({ id }) => id)).size).toBe(2);
  });
});

describe('a receiver that does not accept a message', () => {
  it('gets the same id again after a 500 until it accepts', async () => {
    const queueId = await world.order({ hook: '/flaky/one' });
    const pending = await world.attempted(queueId, 1);
    expect([pending.state, outcomesOf(pending)]).toEqual(['pending', [[500, 'refused']]]);
    const [{ at } = { at: '' }] = pending.attempts;
    const pauseMs = Date.parse(pending.next_attempt_at ?? '') - Date.parse(at);
    expect(pauseMs).toBeGreaterThanOrEqual(5_000);
    expect(pauseMs).toBeLessThan(60_000);
    const delivery = await world.attempted(queueId, 2);
    expect([delivery.state, outcomesOf(delivery)]).toEqual([
      'delivered',
      [
        [500, 'refused'],
        [200, null],
      ],
    ]);
    const both = await world.arrivals('/flaky/one', 2);
    expect(new Set(both.map(({ id }) => id))).toEqual(new Set([delivery.id]));
    expect(new Set(both.map(({ body }) => body)).size).toBe(1);
    expect(both.map((each) => read(secret, each).data.queue_id)).toEqual([queueId, queueId]);
  });

  it('is cut off after ten seconds of hanging, without delaying its job or others', async () => {
    const startedAt = Date.now();
    const hanging = await world.order({ hook: '/slow/one' });
    await world.arrivals('/slow/one', 1);
    await complete(world.farebox.account.api, { model: 'quick-voice', queueId: hanging });
    const next = await world.order({ hook: '/ok/beside' });
    await world.attempted(next, 1);
    expect(Date.now() - startedAt).toBeLessThan(9_000);
    expect(await stateOf(world.farebox.account.api, hanging)).toBe('deleted');
    const delivery = await world.attempted(hanging, 2, 120_000);
    expect(outcomesOf(delivery)).toEqual([
      [null, 'unreachable'],
      [200, null],
    ]);
    expect(delivery.attempts[0]?.duration_ms).toBeGreaterThanOrEqual(10_000);
    expect(delivery.attempts[0]?.duration_ms).toBeLessThan(13_000);
  });

  it('is not followed to a redirect, and the log says so', async () => {
    const queueId = await world.order({ hook: '/elsewhere/one' });
    const delivery = await world.attempted(queueId, 1);
    expect([delivery.state, outcomesOf(delivery)]).toEqual(['pending', [[301, 'redirected']]]);
    expect(world.receiver.received.filter((each) => each.path === '/ok/from-elsewhere')).toEqual([]);
  });

  it('is not called again after a 410', async () => {
    const queueId = await world.order({ hook: '/gone/one' });
    const delivery = await world.attempted(queueId, 1);
    expect([delivery.state, delivery.next_attempt_at, outcomesOf(delivery)]).toEqual(['gone', null, [[410, 'gone']]]);
    const told = world.farebox.temporal.workflow.getHandle(webhookWorkflowId(queueId, 'job.stored'));
    expect(await told.result()).toEqual({ state: 'gone', attempts: 1 });
  });
});

describe('resending', () => {
  it('repeats an accepted message under its id, and runs at once for a pending one', async () => {
    const taken = await world.order({ hook: '/ok/again' });
    const { id } = await world.attempted(taken, 1);
    expect(await world.resend(taken, id)).toMatchObject({ status: 200, body: { id, state: 'delivered' } });
    const both = await world.arrivals('/ok/again', 2);
    expect(new Set(both.map((each) => each.id))).toEqual(new Set([id]));
    expect(outcomesOf(await world.attempted(taken, 2))).toEqual([
      [204, null],
      [204, null],
    ]);
    const tried = await world.order({ hook: '/elsewhere/again' });
    const pending = await world.attempted(tried, 1);
    await world.resend(tried, pending.id);
    const again = await world.attempted(tried, 2);
    const dueAt = Date.parse(pending.next_attempt_at ?? '');
    expect(Date.parse(again.attempts[1]?.at ?? '')).toBeLessThan(dueAt);
  });

  it('is refused for deliveries of other jobs and accounts, and for invalid ids', async () => {
    const mine = await world.order({ hook: '/ok/mine' });
    const { id } = await world.attempted(mine, 1);
    const another = await world.order({ hook: '/ok/another' });
    for (const [queueId, deliveryId] of [
      [another, id],
      [mine, randomUUID()],
      [mine, 'nonsense'],
      [randomUUID(), id],
    ] as const) {
      expect((await world.resend(queueId, deliveryId)).status).toBe(400);
    }
    const stranger = world.farebox.other.api;
    expect((await stranger.get(`/jobs/${mine}/deliveries`)).status).toBe(400);
    expect((await stranger.post(`/jobs/${mine}/deliveries/${id}/resend`)).status).toBe(400);
  });
});

describe('an event whose workflow was lost', () => {
  it('is delivered once by the upkeep', async () => {
    const { farebox } = world;
    const queueId = await world.order({
      model: 'endless-voice',
      hook: '/ok/lost',
      events: ['job.timed_out'],
    });
    await farebox.temporal.workflow.getHandle(queueId).terminate();
    await farebox.pool.query(
      `insert into job_events (queue_id, event, at) values ($1, 'timed_out', now() - interval '10 minutes')`,
      [queueId],
    );
    const upkeep = () =>
      farebox.temporal.workflow.execute<UpkeepWorkflow>(UPKEEP_WORKFLOW, {
        ...{ workflowId: randomUUID(), taskQueue: 'jobs', args: ['tellUntold'] as ['tellUntold'] },
      });
    expect(await upkeep()).toEqual({ done: 1 });
    const [message] = await world.arrivals('/ok/lost', 1);
    expect(message && read(secret, message).type).toBe('job.timed_out');
    await world.attempted(queueId, 1);
    expect(await upkeep()).toEqual({ done: 0 });
    await endJobByHand(queueId);
  });
});

/** Ends a job, as the upkeep would after its deadline. */
async function endJobByHand(queueId: string): Promise<void> {
  await world.farebox.pool.query(`update jobs set deadline_at = now() - interval '1 hour' where queue_id = $1`, [
    queueId,
  ]);
  await world.farebox.temporal.workflow.execute<UpkeepWorkflow>(UPKEEP_WORKFLOW, {
    ...{ workflowId: randomUUID(), taskQueue: 'jobs', args: ['reconcileJobs'] as ['reconcileJobs'] },
  });
  await untilState(world.farebox.account.api, queueId, 'timed_out');
}

describe('many jobs with webhooks', () => {
  const count = longRun(30, 100);
  it(`get one message each: ${count} jobs, ${count} messages`, async () => {
    const ids = await Promise.all(Array.from({ length: count }, () => world.order({ hook: '/ok/crowd' })));
    const messages = (await world.arrivals('/ok/crowd', count, 100_000)).map((each) => read(secret, each));
    for (const queueId of ids) {
      const { state, attempts } = await world.attempted(queueId, 1);
      expect([state, attempts.length]).toEqual(['delivered', 1]);
    }
    expect(messages.map(({ data }) => data.queue_id).sort()).toEqual([...ids].sort());
    expect(new Set(messages.map(({ id }) => id)).size).toBe(count);
    expect(world.receiver.received.filter((each) => each.path === '/ok/crowd').length).toBe(count);
  }, 150_000);
});

describe('a message written late', () => {
  it('reports the output as it was stored, although the client has deleted it meanwhile', async () => {
    const { api } = world.farebox.account;
    writeFileSync(world.pointFile, 'webhook-begun:pause:1:2000');
    const queueId = await world.order({ hook: '/ok/late' });
    await untilState(api, queueId, 'stored');
    await complete(api, { model: 'quick-voice', queueId });
    await untilState(api, queueId, 'deleted');
    writeFileSync(world.pointFile, '');
    const [message] = await world.arrivals('/ok/late', 1);
    if (!message) throw new Error('nothing came');
    const { type, data } = read(secret, message);
    expect({ type, state: data.state, ended_at: data.ended_at }).toEqual({
      ...{ type: 'job.stored', state: 'stored', ended_at: null },
    });
    expect(data.timeline.at(-1)?.event).toBe('stored');
    // The worker passes `webhook-sent` before it records the attempt, and the next test's failpoint must not hit it.
    await world.attempted(queueId, 1);
  });
});

describe('a worker killed between sending and recording', () => {
  it('leaves the message to another, which sends the same id and records it once', async () => {
    writeFileSync(world.pointFile, 'webhook-sent:kill');
    const queueId = await world.order({ hook: '/ok/killed' });
    await world.arrivals('/ok/killed', 1);
    expect((await world.farebox.worker.exit).signal).toBe('SIGKILL');
    writeFileSync(world.pointFile, '');
    workers.push(await spawnWorker({ environment: world.farebox.environment }));
    const messages = await world.arrivals('/ok/killed', 2, 120_000);
    const delivery = await world.attempted(queueId, 1);
    expect(new Set(messages.map(({ id }) => id))).toEqual(new Set([delivery.id]));
    expect(new Set(messages.map(({ body }) => body)).size).toBe(1);
    expect(delivery).toMatchObject({ state: 'delivered', attempts: [{ attempt: 1, status: 204 }] });
    expect((await world.deliveries(queueId)).length).toBe(1);
  });
});
