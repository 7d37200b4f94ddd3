/** One delivery attempt of an event: the same body each time, sent once per activity, and recorded. */
import { createHmac } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deliverWebhook } from '../../activities/deliverWebhook.ts';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import type { WebhookAttempt } from '../../activities/types.ts';
import { FareboxError } from '../../domain/errors.ts';
import type { WebhookEvent } from '../../domain/webhooks.ts';
import { recordEvents } from '../../infra/postgres/jobEvents.ts';
import { keepWebhook } from '../../infra/postgres/jobWebhooks.ts';
import { deliveriesOf } from '../../infra/postgres/webhookDeliveries.ts';
import { rotateWebhookSecret, webhookSecretOf } from '../../infra/postgres/webhookSecrets.ts';
import { type FlowWorld, openFlowWorld } from '../infra/postgres/flowWorld.ts';
import { setJobState } from './setJobState.ts';

const URL = 'https://receiver.test/hook';

interface Sent {
  url: string;
  headers: Record<string, string>;
  body: string;
}

let world: FlowWorld;
let sent: Sent[];
let answer: () => Promise<number>;
beforeAll(async () => {
  world = await openFlowWorld();
});
afterAll(() => world.close());

/** Creates a job with a webhook for these events, whose receiver answers with `reply`. */
async function jobWith(events: readonly WebhookEvent[], reply: () => Promise<number> = async () => 200) {
  sent = [];
  answer = reply;
  const accountId = await world.account();
  const [queueId = ''] = await world.jobs(accountId, 1);
  await keepWebhook(world.ledger.pool, { queueId, accountId, url: URL, events });
  return { accountId, queueId };
}

function deliver(attempt: Partial<WebhookAttempt> & { queueId: string }, step = 'run-1 1') {
  const dependencies = {
    pool: world.ledger.pool,
    log: { info: () => undefined },
    guardedPost: {
      async post(url: string, { headers, body }: Omit<Sent, 'url'>) {
        sent.push({ url, headers, body });
        return await answer();
      },
    },
  } as unknown as ActivityDependencies;
  const whole: WebhookAttempt = { event: 'job.failed', attempt: 1, nextPauseMs: 5_000, ...attempt };
  return new MockActivityEnvironment().run(() => deliverWebhook(dependencies, whole, step));
}

const attemptsOf = async (queueId: string) => {
  const [delivery] = await deliveriesOf(world.ledger.pool, queueId);
  return { state: delivery?.state, attempts: delivery?.attempts.map(({ status, error }) => [status, error]) };
};

describe('a delivered event', () => {
  it('says what happened and when, and is signed by the secret of the account', async () => {
    const { accountId, queueId } = await jobWith(['job.failed']);
    const at = '2026-03-01T12:00:00.000Z';
    await recordEvents(world.ledger.pool, queueId, [{ event: 'failed', detail: 'The provider failed.', at }]);
    expect(await deliver({ queueId })).toEqual({ outcome: 'delivered' });
    const [{ url, headers, body } = { url: '', headers: {}, body: '' }] = sent as [Sent];
    const message = JSON.parse(body);
    expect(url).toBe(URL);
    expect(message).toMatchObject({
      ...{ id: headers['webhook-id'], type: 'job.failed', created_at: at },
      data: {
        object: 'job',
        queue_id: queueId,
        timeline: [{ event: 'failed', detail: 'The provider failed.' }],
      },
    });
    const { secret } = await webhookSecretOf(world.ledger.pool, accountId);
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const signature = createHmac('sha256', secret).update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
  });

  it('is signed by the new secret and by the one before it, on the day of the change', async () => {
    const { accountId, queueId } = await jobWith(['job.failed']);
    const { secret: old } = await webhookSecretOf(world.ledger.pool, accountId);
    const { secret } = await rotateWebhookSecret(world.ledger.pool, { accountId, actor: 'operator' });
    await deliver({ queueId });
    const headers = sent[0]?.headers ?? {};
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${sent[0]?.body}`;
    const expected = [secret, old].map((each) => `v1,${createHmac('sha256', each).update(signed).digest('base64')}`);
    expect(headers['webhook-signature']).toBe(expected.join(' '));
  });

  it('has the same body and id in every attempt, whatever state the job has reached since', async () => {
    const { queueId } = await jobWith(['job.stored'], async () => 503);
    await deliver({ queueId, event: 'job.stored' });
    await setJobState(world, queueId, 'deleted');
    await deliver({ queueId, event: 'job.stored', attempt: 2 }, 'run-1 2');
    await deliver({ queueId, event: 'job.stored' }, 'run-2 1');
    expect(sent).toHaveLength(3);
    expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
    expect(new Set(sent.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('of a stored output says `stored` also when the output was deleted before the delivery', async () => {
    const { queueId } = await jobWith(['job.stored']);
    await world.finish(queueId);
    await recordEvents(world.ledger.pool, queueId, [{ event: 'stored' }, { event: 'deleted' }]);
    await setJobState(world, queueId, 'deleted');
    await deliver({ queueId, event: 'job.stored' });
    const { data } = JSON.parse(sent[0]?.body ?? '{}');
    expect(data).toMatchObject({ state: 'stored', ended_at: null });
    expect(data.timeline.map(({ event }: { event: string }) => event)).not.toContain('deleted');
  });
});

describe('an attempt', () => {
  it.each<[string, () => Promise<number>, object, [number | null, string | null]]>([
    ['that the receiver accepts', async () => 204, { outcome: 'delivered' }, [204, null]],
    ['whose receiver wants no more deliveries', async () => 410, { outcome: 'gone' }, [410, 'gone']],
    ['that is refused', async () => 500, { outcome: 'failed', error: 'refused', status: 500 }, [500, 'refused']],
    [
      'that is redirected',
      async () => 302,
      { outcome: 'failed', error: 'redirected', status: 302 },
      [302, 'redirected'],
    ],
    [
      'that reaches nobody',
      () => Promise.reject(new FareboxError({ code: 'invalid_source', message: 'no', internal: 'blocked: 10.0.0.5' })),
      { outcome: 'failed', error: 'unreachable', status: null },
      [null, 'unreachable'],
    ],
  ])('%s is recorded', async (_what, reply, result, row) => {
    const { queueId } = await jobWith(['job.failed'], reply);
    expect(await deliver({ queueId })).toEqual(result);
    expect((await attemptsOf(queueId)).attempts).toEqual([row]);
  });

  it.each([
    [5_000, 'pending'],
    [null, 'failed'],
  ])('with another one after %s ms leaves the delivery %s', async (nextPauseMs, state) => {
    const { queueId } = await jobWith(['job.failed'], async () => 500);
    await deliver({ queueId, nextPauseMs });
    expect((await attemptsOf(queueId)).state).toBe(state);
  });

  it('that was recorded is not sent again when its activity is repeated', async () => {
    const { queueId } = await jobWith(['job.failed'], async () => 500);
    const first = await deliver({ queueId });
    answer = async () => 200;
    expect(await deliver({ queueId })).toEqual(first);
    expect(sent).toHaveLength(1);
    expect(await deliver({ queueId, attempt: 2 }, 'run-1 2')).toEqual({ outcome: 'delivered' });
    expect(await attemptsOf(queueId)).toEqual({
      state: 'delivered',
      attempts: [
        [500, 'refused'],
        [200, null],
      ],
    });
  });

  it('that fails by an internal error is not recorded', async () => {
    const { queueId } = await jobWith(['job.failed'], () => Promise.reject(new TypeError('a bug')));
    await expect(deliver({ queueId })).rejects.toThrow('a bug');
    expect((await attemptsOf(queueId)).attempts).toEqual([]);
  });

  it.each([
    ['whose URL is no longer kept', 'delete from job_webhooks where queue_id = $1'],
    [
      'of which nothing is kept',
      'with url as (delete from job_webhooks where queue_id = $1) delete from jobs where queue_id = $1',
    ],
  ])('of a job %s is none', async (_what, statement) => {
    const { queueId } = await jobWith(['job.failed']);
    await world.ledger.owner.query(statement, [queueId]);
    expect(await deliver({ queueId })).toEqual({ outcome: 'forgotten' });
    expect(sent).toEqual([]);
  });
});
