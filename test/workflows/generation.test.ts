import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ApplicationFailure } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GenerateResult, MeasureResult } from '../../activities/types.ts';
import {
  CANCEL_UPDATE,
  type CancelResult,
  COMPLETE_UPDATE,
  type CompleteRequest,
  type CompleteResult,
} from '../../workflows/contract.ts';
import { createNamespace, services } from '../harness/services.ts';
import { openStage, type Stage } from './story.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage({ address: services().temporal.address, namespace: await createNamespace() });
});
afterAll(() => stage.close());

const refused: GenerateResult = { kind: 'failed', code: 'provider_refused', message: 'Not this recording.' };

describe('a generation that succeeds', () => {
  it('is measured, charged and answered before the provider is asked, then stored, and deleted when completed', async () => {
    const play = await stage.play({});
    expect(await play.accepted).toEqual({
      accepted: true,
      durationSeconds: 2,
      chargeId: 'charge-1',
      priceUsd: '50000000',
    });
    expect(await play.handle.executeUpdate<CompleteResult, []>(COMPLETE_UPDATE)).toEqual({
      outcome: 'deleted',
    });
    expect(await play.result()).toMatchObject({ state: 'deleted', chargeId: 'charge-1' });
    expect(stage.steps).toEqual(['measureSource', 'acceptJob', 'generate', 'removeMedia deleted']);
  });

  it('expires, keeping its charge, when nobody completes it', async () => {
    const play = await stage.play({}, { retentionMs: 100 });
    expect(await play.result()).toMatchObject({ state: 'expired', chargeId: 'charge-1' });
    expect(stage.steps.at(-1)).toBe('removeMedia expired');
    expect(stage.steps.join()).not.toContain('endJob');
  });

  it('has at most 60 history events after ten minutes of polling', async () => {
    let asked = 0;
    // Ten minutes with pauses of 2 to 10 s take 65 polls. Each poll retries the same activity, here after one second.
    const [waits, questions] = process.env.FAREBOX_TEST_LONG === '1' ? [10, 65] : [3, 9];
    let waited = 0;
    const play = await stage.play(
      {
        generate: () => {
          waited += 1;
          if (waited < waits)
            throw ApplicationFailure.create({ type: 'NoPlace', message: 'in line', nextRetryDelay: 20 });
          return Promise.resolve({ kind: 'running', operation: { id: 'op-1' } });
        },
        awaitOutcome: () => {
          asked += 1;
          if (asked < questions) throw ApplicationFailure.create({ type: 'StillRunning', message: 'not yet' });
          return Promise.resolve({ kind: 'stored' });
        },
      },
      { deadlineMs: 120_000 },
    );
    await play.accepted;
    await play.handle.executeUpdate<CompleteResult, [CompleteRequest]>(COMPLETE_UPDATE, {
      args: [{ stored: true }],
    });
    await play.result();
    expect(asked).toBe(questions);
    const { events } = await play.handle.fetchHistory();
    expect(events?.length).toBeGreaterThan(20);
    expect(events?.length).toBeLessThanOrEqual(60);
  });

  it('waits for a running provider without adding to its history', async () => {
    let asked = 0;
    const play = await stage.play({
      generate: () => Promise.resolve({ kind: 'running', operation: { id: 'op-1' } }),
      awaitOutcome: () => {
        asked += 1;
        if (asked < 5) throw ApplicationFailure.create({ type: 'StillRunning', message: 'not yet' });
        return Promise.resolve({ kind: 'stored' });
      },
    });
    await play.accepted;
    await play.handle.executeUpdate(COMPLETE_UPDATE);
    expect(await play.result()).toMatchObject({ state: 'deleted' });
    expect(asked).toBe(5);
    const history = await play.handle.fetchHistory();
    const scheduled = history.events?.filter((event) => event.activityTaskScheduledEventAttributes);
    expect(scheduled?.length).toBe(4);
    expect(history.events?.length).toBeLessThan(60);
  });
});

describe('a generation that is refused before the charge', () => {
  it('returns the exact refusal of the measurement, removes the source and never reaches the ledger', async () => {
    const refusal = { ok: false, code: 'invalid_media', message: 'Not a recording.' } as const;
    const play = await stage.play({ measureSource: () => Promise.resolve(refusal) });
    expect(await play.accepted).toEqual({
      accepted: false,
      code: 'invalid_media',
      message: 'Not a recording.',
    });
    expect(await play.result()).toMatchObject({ state: 'refused' });
    expect(stage.steps).toEqual(['discardSource']);
  });

  it('answers "insufficient" without a provider call', async () => {
    const refusal = { ok: false, code: 'insufficient_balance', message: 'Insufficient.' } as const;
    const play = await stage.play({ acceptJob: () => Promise.resolve(refusal) });
    expect(await play.accepted).toMatchObject({ accepted: false, code: 'insufficient_balance' });
    await play.result();
    expect(stage.steps).toEqual(['measureSource', 'discardSource']);
  });

  it('withdraws the order when the outcome of its charge is unknown', async () => {
    const play = await stage.play({
      acceptJob: () => Promise.reject(ApplicationFailure.nonRetryable('lost', 'internal')),
    });
    expect(await play.accepted).toMatchObject({ accepted: false, code: 'unavailable' });
    await play.result();
    expect(stage.steps).toEqual(['measureSource', 'abandonJob']);
  });
});

it('an order that is cancelled while its source is measured ends at once without a charge', async () => {
  let finish: (value: MeasureResult) => void = () => undefined;
  const measuring = new Promise<MeasureResult>((resolve) => {
    finish = resolve;
  });
  const play = await stage.play({ measureSource: () => measuring });
  await expect.poll(async () => (await play.handle.describe()).status.name).toBe('RUNNING');
  expect(await play.handle.executeUpdate<CancelResult, []>(CANCEL_UPDATE)).toEqual({ outcome: 'too_late' });
  expect(await play.accepted).toMatchObject({ accepted: false, code: 'unavailable' });
  expect(await play.result()).toMatchObject({ state: 'refused' });
  expect(stage.steps).toEqual(['abandonJob']);
  finish({ ok: false, code: 'internal', message: 'too late' });
});

it('an order that is cancelled before its answer is requested ends at once, unmeasured', async () => {
  const play = await stage.playUnasked({ acceptMs: 600_000 });
  expect(await play.handle.executeUpdate<CancelResult, []>(CANCEL_UPDATE)).toEqual({ outcome: 'too_late' });
  expect(await play.result()).toMatchObject({ state: 'refused' });
  expect(stage.steps).toEqual(['abandonJob']);
});

it('an order whose answer nobody requests withdraws a charge whose result was lost, and ends', async () => {
  const play = await stage.playUnasked({ acceptMs: 300 });
  expect(await play.result()).toMatchObject({ state: 'refused' });
  expect(stage.steps).toEqual(['abandonJob']);
});

describe('an order whose client read its acceptance from the job row', () => {
  const terms = { durationSeconds: 2, chargeId: 'charge-1', priceUsd: '50000000', paid: '0.05 usd' };
  const abandonJob = () => {
    stage.steps.push('abandonJob');
    return Promise.resolve(terms);
  };

  it('is generated although nobody requested its answer', async () => {
    const play = await stage.playUnasked({ acceptMs: 300, retentionMs: 300 }, { abandonJob });
    expect(await play.result()).toMatchObject({ state: 'expired', chargeId: 'charge-1' });
    expect(stage.steps).toEqual(['abandonJob', 'measureSource', 'generate', 'removeMedia expired']);
  });

  it('is generated although the result of its charge was lost', async () => {
    const acceptJob = () => Promise.reject(ApplicationFailure.nonRetryable('lost', 'internal'));
    const play = await stage.play({ acceptJob, abandonJob }, { retentionMs: 300 });
    expect(await play.accepted).toMatchObject({ accepted: true, chargeId: 'charge-1' });
    expect(await play.result()).toMatchObject({ state: 'expired' });
    expect(stage.steps).toEqual(['measureSource', 'abandonJob', 'generate', 'removeMedia expired']);
  });

  it('is refunded when its source can no longer be measured', async () => {
    const refusal = { ok: false, code: 'invalid_media', message: 'Not a recording.' } as const;
    const measureSource = () => Promise.resolve(refusal);
    const play = await stage.playUnasked({ acceptMs: 300 }, { abandonJob, measureSource });
    expect(await play.result()).toMatchObject({ state: 'failed', refundId: 'refund-1' });
    expect(stage.steps).toEqual(['abandonJob', 'endJob failed']);
  });

  it('is refunded when the client cancelled it before', async () => {
    const play = await stage.playUnasked({ acceptMs: 600_000 }, { abandonJob });
    await play.handle.executeUpdate<CancelResult, []>(CANCEL_UPDATE);
    expect(await play.result()).toMatchObject({ state: 'cancelled', refundId: 'refund-1' });
    expect(stage.steps).toEqual(['abandonJob', 'endJob cancelled']);
  });
});

describe('a generation that ends before its output is stored', () => {
  it('is refunded with the reason when the provider refuses', async () => {
    const play = await stage.play({ generate: () => Promise.resolve(refused) });
    await play.accepted;
    expect(await play.result()).toMatchObject({
      state: 'failed',
      refundId: 'refund-1',
      failure: { code: 'provider_refused' },
    });
    expect(stage.steps).toEqual(['measureSource', 'acceptJob', 'endJob failed']);
  });

  it.each([
    ['long before the deadline', 600_000, { state: 'failed', failure: { code: 'provider_unknown' } }, 2],
    ['at the deadline where that is sooner', 600, { state: 'timed_out' }, 1],
  ])(
    'is refunded when a provider that cannot be asked lost its reply, %s',
    async (_when, deadlineMs, expected, attempts) => {
      let generated = 0;
      const play = await stage.play(
        {
          generate: () => {
            generated += 1;
            return Promise.resolve({ kind: 'unknown', askable: false });
          },
        },
        { deadlineMs, heartbeatMs: 500 },
      );
      await play.accepted;
      expect(await play.result()).toMatchObject({ ...expected, refundId: 'refund-1' });
      expect(generated).toBe(attempts);
    },
  );

  it('is kept when a later attempt finds that the abandoned one stored its output', async () => {
    const answers: GenerateResult[] = [{ kind: 'unknown', askable: false }, { kind: 'stored' }];
    const generate = () => Promise.resolve(answers.shift() ?? refused);
    const play = await stage.play({ generate }, { deadlineMs: 600_000, heartbeatMs: 500 });
    await play.accepted;
    await play.handle.executeUpdate(COMPLETE_UPDATE);
    expect(await play.result()).toMatchObject({ state: 'deleted' });
  });

  it('continues with the status of the provider after a lost reply', async () => {
    const answers: GenerateResult[] = [{ kind: 'unknown', askable: true }, { kind: 'stored' }];
    const play = await stage.play({ generate: () => Promise.resolve(answers.shift() ?? refused) });
    await play.accepted;
    await play.handle.executeUpdate(COMPLETE_UPDATE);
    expect(await play.result()).toMatchObject({ state: 'deleted' });
  });

  it('submits again after a pause when the provider has no room', async () => {
    const answers: GenerateResult[] = [{ kind: 'busy', retryAfterMs: 30 }, { kind: 'stored' }];
    const play = await stage.play({ generate: () => Promise.resolve(answers.shift() ?? refused) });
    await play.accepted;
    await play.handle.executeUpdate(COMPLETE_UPDATE);
    expect(await play.result()).toMatchObject({ state: 'deleted' });
  });

  it('is refunded once when the client cancels twice while the provider works', async () => {
    const play = await stage.play({ generate: () => new Promise<GenerateResult>(() => undefined) });
    await play.accepted;
    const [first, second] = await Promise.all([
      play.handle.executeUpdate<CancelResult, []>(CANCEL_UPDATE),
      play.handle.executeUpdate<CancelResult, []>(CANCEL_UPDATE),
    ]);
    expect([first, second]).toEqual([{ outcome: 'cancelled' }, { outcome: 'cancelled' }]);
    expect(await play.result()).toMatchObject({ state: 'cancelled', refundId: 'refund-1' });
    expect(stage.steps.filter((step) => step.startsWith('endJob'))).toEqual(['endJob cancelled']);
  });

  it('continues when the refund budget refuses its cancellation, and can be cancelled later', async () => {
    let refuses = true;
    const play = await stage.play({
      generate: () => new Promise<GenerateResult>(() => undefined),
      endJob: ({ state, isEndedByClient }) => {
        if (isEndedByClient && refuses) return Promise.resolve({ state: 'submitted', refused: 'refund_budget' });
        return Promise.resolve({ state, refundId: 'refund-1' });
      },
    });
    await play.accepted;
    const cancel = () => play.handle.executeUpdate<CancelResult, []>(CANCEL_UPDATE);
    expect(await cancel()).toEqual({ outcome: 'over_budget' });
    expect((await play.handle.describe()).status.name).toBe('RUNNING');
    refuses = false;
    expect(await cancel()).toEqual({ outcome: 'cancelled' });
    expect(await play.result()).toMatchObject({ state: 'cancelled', refundId: 'refund-1' });
  });

  it.each([
    ['is cancelled at the time limit of its client', false, 'cancelled'],
    ['continues to its deadline when the refund budget refuses that', true, 'timed_out'],
  ] as const)('%s', async (_what, refuses, state) => {
    const asked: unknown[] = [];
    const play = await stage.play(
      {
        generate: () => new Promise<GenerateResult>(() => undefined),
        endJob: (input) => {
          asked.push([input.state, input.isEndedByClient ?? false]);
          if (input.isEndedByClient && refuses)
            return Promise.resolve({ state: 'submitted', refused: 'refund_budget' });
          return Promise.resolve({ state: input.state, refundId: 'refund-1' });
        },
      },
      { cancelAfterMs: 300, deadlineMs: refuses ? 5_000 : 60_000 },
    );
    await play.accepted;
    expect(await play.result()).toMatchObject({ state, refundId: 'refund-1' });
    const books = [['cancelled', true]];
    expect(asked).toEqual(refuses ? [...books, ['timed_out', false]] : books);
  });

  it('is refunded when an operator cancels the workflow itself', async () => {
    const play = await stage.play({ generate: () => new Promise<GenerateResult>(() => undefined) });
    await play.accepted;
    await play.handle.cancel();
    expect(await play.result()).toMatchObject({ state: 'cancelled', refundId: 'refund-1' });
  });

  it('is not cancelled when its row says that the output came first', async () => {
    const play = await stage.play({
      generate: () => new Promise<GenerateResult>(() => undefined),
      endJob: () => Promise.resolve({ state: 'stored' }),
    });
    await play.accepted;
    expect(await play.handle.executeUpdate<CancelResult, []>(CANCEL_UPDATE)).toEqual({ outcome: 'too_late' });
    await play.handle.executeUpdate(COMPLETE_UPDATE);
    expect(await play.result()).toMatchObject({ state: 'deleted' });
  });

  it('discards an output that arrives after the client completed the job', async () => {
    let finish: (value: GenerateResult) => void = () => undefined;
    const play = await stage.play({
      generate: () =>
        new Promise<GenerateResult>((resolve) => {
          finish = resolve;
        }),
    });
    await play.accepted;
    expect(await play.handle.executeUpdate<CompleteResult, []>(COMPLETE_UPDATE)).toEqual({
      outcome: 'deleted',
    });
    await expect.poll(() => finish.length).toBe(1);
    finish({ kind: 'stored' });
    expect(await play.result()).toMatchObject({ state: 'deleted' });
    expect(stage.steps.at(-1)).toBe('removeMedia deleted');
  });

  it('reports stored media as deleted only after their removal, also when the row knew of the output first', async () => {
    const completed: Promise<CompleteResult>[] = [];
    const play = await stage.play({
      async generate({ job }) {
        // The row says `stored` and the client completes the job before the workflow learns of the output.
        const handle = stage.client.workflow.getHandle(job.queueId);
        const request = { args: [{ stored: true }] as [CompleteRequest] };
        completed.push(handle.executeUpdate<CompleteResult, [CompleteRequest]>(COMPLETE_UPDATE, request));
        await sleep(300);
        return { kind: 'stored' };
      },
    });
    await expect.poll(() => completed.length).toBe(1);
    expect(await completed[0]).toEqual({ outcome: 'deleted' });
    expect(stage.steps.at(-1)).toBe('removeMedia deleted');
    expect(await play.result()).toMatchObject({ state: 'deleted' });
  });

  it('retries a refund until it is written', async () => {
    let tried = 0;
    const play = await stage.play({
      generate: () => Promise.resolve(refused),
      endJob: ({ state }) => {
        tried += 1;
        if (tried < 3) throw new Error('the database is away');
        return Promise.resolve({ state, refundId: 'refund-1' });
      },
    });
    await play.accepted;
    expect(await play.result()).toMatchObject({ state: 'failed', refundId: 'refund-1' });
    expect(tried).toBe(3);
  });
});

const HISTORIES = fileURLToPath(new URL('../histories/', import.meta.url));

describe('recorded histories', () => {
  it.each(readdirSync(HISTORIES).filter((name) => name.endsWith('.json')))(
    'replays %s with the present workflow',
    async (name) => {
      const history: unknown = JSON.parse(readFileSync(`${HISTORIES}${name}`, 'utf8'));
      await Worker.runReplayHistory({ workflowBundle: stage.workflowBundle }, history);
    },
  );
});
