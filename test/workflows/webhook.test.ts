/** Webhook deliveries: times, number and independence of the job. The server is real, the activities are not. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptResult, WebhookAttempt } from '../../activities/types.ts';
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../domain/webhooks.ts';
import {
  CANCEL_UPDATE,
  COMPLETE_UPDATE,
  RESEND_SIGNAL,
  WEBHOOK_WORKFLOW,
  type WebhookInput,
  type WebhookWorkflow,
  webhookOptions,
  webhookWorkflowId,
} from '../../workflows/contract.ts';
import { createNamespace, services } from '../harness/services.ts';
import { openStage, type Stage } from './story.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage({ address: services().temporal.address, namespace: await createNamespace() });
});
afterAll(() => stage.close());

const REFUSED: AttemptResult = { outcome: 'failed', error: 'refused', status: 500 };

/** Delivers one event to a receiver that gives these answers in order and then repeats the last one. */
async function tell(answers: AttemptResult[], pausesMs: number[]) {
  const attempts: WebhookAttempt[] = [];
  stage.attempts((attempt) => {
    attempts.push(attempt);
    return Promise.resolve(answers[Math.min(attempts.length, answers.length) - 1] ?? REFUSED);
  });
  const told: WebhookInput = {
    queueId: randomUUID(),
    accountId: randomUUID(),
    event: 'job.stored',
    pausesMs,
  };
  const options = webhookOptions(told);
  const handle = await stage.client.workflow.start<WebhookWorkflow>(WEBHOOK_WORKFLOW, options);
  return { attempts, handle };
}

describe('a delivery', () => {
  it('ends with the first attempt that the receiver accepts', async () => {
    const { attempts, handle } = await tell([REFUSED, REFUSED, { outcome: 'delivered' }], [20, 20, 20, 20]);
    expect(await handle.result()).toEqual({ state: 'delivered', attempts: 3 });
    expect(attempts.map(({ attempt, nextPauseMs }) => [attempt, nextPauseMs])).toEqual([
      [1, 20],
      [2, 20],
      [3, 20],
    ]);
  });

  it('ends after the last pause, and marks the last attempt as such', async () => {
    const { attempts, handle } = await tell([REFUSED], [10, 20]);
    expect(await handle.result()).toEqual({ state: 'failed', attempts: 3 });
    expect(attempts.map(({ nextPauseMs }) => nextPauseMs)).toEqual([10, 20, null]);
  });

  it.each(['gone', 'forgotten'] as const)('that is %s is not attempted again', async (outcome) => {
    const { attempts, handle } = await tell([{ outcome }], [10, 20]);
    expect(await handle.result()).toEqual({ state: outcome, attempts: 1 });
    expect(attempts.length).toBe(1);
  });

  it('is attempted at once when the client requests it during a pause', async () => {
    const { attempts, handle } = await tell([REFUSED, { outcome: 'delivered' }], [600_000]);
    await expect.poll(() => attempts.length).toBe(1);
    await handle.signal(RESEND_SIGNAL);
    expect(await handle.result()).toEqual({ state: 'delivered', attempts: 2 });
  });
});

describe('a job with a webhook', () => {
  const told = () => stage.steps.filter((step) => step.startsWith('deliverWebhook'));

  it('reports its output and its deletion once each', async () => {
    const play = await stage.play({}, {}, { events: WEBHOOK_EVENTS });
    await play.accepted;
    await expect.poll(told).toEqual(['deliverWebhook job.stored']);
    await play.handle.executeUpdate(COMPLETE_UPDATE);
    await play.result();
    await expect.poll(told).toEqual(['deliverWebhook job.stored', 'deliverWebhook job.deleted']);
  });

  it.each<[string, WebhookEvent, Parameters<Stage['play']>[0], object]>([
    ['fails', 'job.failed', { generate: () => Promise.resolve({ kind: 'ended' }) }, {}],
    ['times out', 'job.timed_out', { generate: () => new Promise(() => undefined) }, { deadlineMs: 200 }],
    ['expires', 'job.expired', {}, { retentionMs: 100 }],
  ])('reports that it %s', async (_how, event, activities, timing) => {
    const play = await stage.play(activities, timing, { events: [event] });
    await play.result();
    await expect.poll(told).toEqual([`deliverWebhook ${event}`]);
    const id = webhookWorkflowId(play.input.queueId, event);
    expect(await stage.client.workflow.getHandle(id).result()).toEqual({ state: 'delivered', attempts: 1 });
  });

  it('reports its cancellation, also when an operator cancelled the workflow itself', async () => {
    for (const byOperator of [false, true]) {
      const hang = { generate: () => new Promise<never>(() => undefined) };
      const play = await stage.play(hang, {}, { events: ['job.cancelled'] });
      await play.accepted;
      if (byOperator) await play.handle.cancel();
      else await play.handle.executeUpdate(CANCEL_UPDATE);
      await play.result();
      await expect.poll(told).toEqual(['deliverWebhook job.cancelled']);
    }
  });

  it('continues and ends while the receiver does not answer', async () => {
    let answer: (result: AttemptResult) => void = () => undefined;
    const silent = {
      deliverWebhook: () =>
        new Promise<AttemptResult>((resolve) => {
          answer = resolve;
        }),
    };
    const play = await stage.play(silent, {}, { events: ['job.stored'] });
    await play.accepted;
    await play.handle.executeUpdate(COMPLETE_UPDATE);
    expect(await play.result()).toMatchObject({ state: 'deleted' });
    const id = webhookWorkflowId(play.input.queueId, 'job.stored');
    expect((await stage.client.workflow.getHandle(id).describe()).status.name).toBe('RUNNING');
    await expect.poll(() => answer.length).toBe(1);
    answer({ outcome: 'delivered' });
    expect(await stage.client.workflow.getHandle(id).result()).toEqual({ state: 'delivered', attempts: 1 });
  });

  it('reports nothing without a webhook, no event that was not chosen, and no order that was refused', async () => {
    const quiet = await stage.play({}, { retentionMs: 50 });
    await quiet.result();
    expect(told()).toEqual([]);
    const choosy = await stage.play({}, { retentionMs: 50 }, { events: ['job.failed'] });
    await choosy.result();
    expect(told()).toEqual([]);
    const refusal = { ok: false, code: 'invalid_media', message: 'Not a recording.' } as const;
    const refused = await stage.play({ measureSource: () => Promise.resolve(refusal) }, {}, { events: WEBHOOK_EVENTS });
    await refused.result();
    expect(told()).toEqual([]);
  });
});
