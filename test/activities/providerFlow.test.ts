/** The provider activity when a provider fails, is full, calls back or is stopped, with state in the database. */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAccountTurns } from '../../activities/accountTransaction.ts';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import { endJob } from '../../activities/endJob.ts';
import { awaitOutcome, generate } from '../../activities/generate.ts';
import { sealOrder } from '../../domain/generation/sealedOrder.ts';
import type { ProviderLimits } from '../../domain/providerSettings.ts';
import { readJob } from '../../infra/postgres/jobs.ts';
import { charge } from '../../infra/postgres/ledger.ts';
import { watchCircuits } from '../../infra/postgres/providerHealth.ts';
import type { CallContext, GenerationProvider, Outcome } from '../../providers/shared/provider.ts';
import type { AudioGeneration } from '../../workflows/contract.ts';
import { until } from '../harness/until.ts';
import { type FlowWorld, openFlowWorld } from '../infra/postgres/flowWorld.ts';
import { both, order } from '../infra/postgres/ledgerWorld.ts';

const ENTRY = 'entry';
const RUNNING: Outcome = { status: 'running', operation: { id: 'op' } };
const SEALED = sealOrder({ order: { kind: 'audio', prompt: 'rain' }, media: [] });

let world: FlowWorld;
let lines: { level: string; words: string; fields: object }[];
beforeAll(async () => {
  world = await openFlowWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  lines = [];
  await world.ledger.owner.query('delete from provider_health');
});

interface Setting {
  /** Nano USD. The default is too high to matter. */
  refundedPerDay?: bigint;
  provider: Partial<GenerationProvider>;
  limits?: ProviderLimits;
  callbackUrl?: string;
}

function dependenciesOf({ provider, limits, callbackUrl, refundedPerDay = 10n ** 18n }: Setting): ActivityDependencies {
  const tell = (level: string) => (fields: object, words: string) => lines.push({ level, words, fields });
  return {
    pool: world.ledger.pool,
    accountTurns: createAccountTurns(),
    models: new Map(),
    providers: new Map([[ENTRY, { repeatable: false, start: async () => RUNNING, ...provider }]]),
    providerSettings: { [ENTRY]: { kind: 'local', ...(limits && { limits }) } },
    callbackUrl: async () => callbackUrl,
    refundedPerDay: () => refundedPerDay,
    storage: {
      get: async () => Readable.from([SEALED]),
      remove: async () => undefined,
      list: async () => ({ objects: [] }),
    },
    folders: { create: async () => '/nowhere', remove: async () => undefined },
    log: { info: tell('info'), warn: tell('warn'), error: tell('error') },
  } as unknown as ActivityDependencies;
}

async function newJob(accountId?: string): Promise<AudioGeneration> {
  const account = accountId ?? (await world.account());
  const [queueId = ''] = await world.jobs(account, 1, ENTRY);
  return {
    ...{ kind: 'audio', queueId, accountId: account, keyId: null, requestId: 'request', modelId: 'model' },
    ...{ provider: ENTRY, providerQueue: 'providers', acceptBy: 0, usage: { characters: 4 } },
    timing: {
      ...{ acceptMs: 60_000, deadlineMs: 60_000, retentionMs: 60_000 },
      ...{ pollFirstMs: 100, pollLongestMs: 1_000, heartbeatMs: 5_000 },
    },
  };
}

const source = { media: [], measuredAt: '2026-01-01T00:00:00.000Z' };

/** Returns the result of the activity, or the type and pause of the retry that it requests. */
async function submit(dependencies: ActivityDependencies, job: AudioGeneration) {
  return await settled(() => generate(dependencies, { job, source }));
}

async function settled<T>(step: () => Promise<T>): Promise<T | { waits: string; afterMs: number }> {
  try {
    return await new MockActivityEnvironment().run(step);
  } catch (error) {
    if (!(error instanceof ApplicationFailure)) throw error;
    expect(error).toMatchObject({ category: ApplicationFailureCategory.BENIGN, nonRetryable: false });
    return { waits: error.type ?? '', afterMs: Number(error.nextRetryDelay) };
  }
}

describe('a job without a provider job slot', () => {
  it('is retried as the same activity, and is submitted when a slot is free', async () => {
    let starts = 0;
    const start = async () => {
      starts += 1;
      return RUNNING;
    };
    const dependencies = dependenciesOf({ provider: { start }, limits: { concurrent: 1 } });
    const [first, second] = [await newJob(), await newJob()];
    expect(await submit(dependencies, first)).toMatchObject({ kind: 'running' });
    const waiting = await submit(dependencies, second);
    expect(waiting).toMatchObject({ waits: 'NoPlace' });
    expect('afterMs' in waiting && waiting.afterMs).toBeLessThanOrEqual(1_000);
    expect(starts).toBe(1);
    await world.finish(first.queueId);
    expect(await submit(dependencies, second)).toMatchObject({ kind: 'running' });
    await world.finish(second.queueId);
  });

  it('gives its slot back when the provider itself is full, and waits as long as the provider says', async () => {
    const start = async (): Promise<Outcome> => ({
      status: 'busy',
      reason: 'concurrency',
      retryAfterMs: 3_000,
    });
    const full = dependenciesOf({ provider: { start }, limits: { concurrent: 1 } });
    const [first, second] = [await newJob(), await newJob()];
    expect(await submit(full, first)).toEqual({ waits: 'ProviderBusy', afterMs: 3_000 });
    const free = dependenciesOf({ provider: {}, limits: { concurrent: 1 } });
    expect(await submit(free, second)).toMatchObject({ kind: 'running' });
    await world.finish(first.queueId, second.queueId);
  });

  it('is not retried at once, even where the provider allows it', async () => {
    const start = async (): Promise<Outcome> => ({ status: 'busy', reason: 'rate_limited', retryAfterMs: 0 });
    const job = await newJob();
    const answer = await submit(dependenciesOf({ provider: { start } }), job);
    expect(answer).toMatchObject({ waits: 'ProviderBusy' });
    expect('afterMs' in answer && answer.afterMs).toBeGreaterThanOrEqual(job.timing.pollFirstMs);
    await world.finish(job.queueId);
  });
});

const ANSWERS: [string, Outcome, boolean][] = [
  ['an unknown outcome', { status: 'unknown', detail: 'connection refused' }, true],
  ['an overloaded service', { status: 'busy', reason: 'overloaded' }, true],
  ['a credential that is not accepted', { status: 'refused', reason: 'credential', message: 'no' }, true],
  ['a refused order', { status: 'refused', reason: 'refused', message: 'no' }, false],
  ['a content policy', { status: 'refused', reason: 'content_policy', message: 'no' }, false],
  ['a failed generation', { status: 'refused', reason: 'failed', message: 'no' }, false],
  ['too many requests', { status: 'busy', reason: 'rate_limited' }, false],
  ['too many at once', { status: 'busy', reason: 'concurrency' }, false],
];

describe('a provider that fails', () => {
  it.each(ANSWERS)('%s, five times in a row, opens its circuit as the table says', async (_name, outcome, opens) => {
    const dependencies = dependenciesOf({ provider: { start: async () => outcome } });
    for (let times = 0; times < 5; times += 1) await submit(dependencies, await newJob());
    const restsMs = await watchCircuits(world.ledger.pool).restsMs(ENTRY);
    expect(restsMs !== undefined).toBe(opens);
    expect(lines.filter(({ words }) => words === 'provider circuit opened')).toHaveLength(opens ? 1 : 0);
  });

  it('gets no further order until a trial order is answered, and the log shows the recovery', async () => {
    let starts = 0;
    let answer: Outcome = { status: 'unknown', detail: 'connection refused' };
    const start = async () => {
      starts += 1;
      return answer;
    };
    const dependencies = dependenciesOf({ provider: { start } });
    for (let times = 0; times < 5; times += 1) await submit(dependencies, await newJob());
    const later = await newJob();
    expect(await submit(dependencies, later)).toMatchObject({ waits: 'ProviderDown' });
    expect(starts).toBe(5);
    await world.ledger.owner.query(`update provider_health set open_until = now() - interval '1 s'`);
    answer = RUNNING;
    expect(await submit(dependencies, later)).toMatchObject({ kind: 'running' });
    expect(lines).toContainEqual({
      level: 'info',
      words: 'provider circuit closed',
      fields: { provider: ENTRY },
    });
  });

  it('is still polled for running jobs, and an answer closes the circuit', async () => {
    const dependencies = dependenciesOf({
      provider: {
        start: async () => ({ status: 'unknown', detail: 'silence' }),
        check: async () => RUNNING,
      },
    });
    for (let times = 0; times < 5; times += 1) await submit(dependencies, await newJob());
    const job = await newJob();
    const asked = await settled(() => awaitOutcome(dependencies, job, { id: 'op' }));
    expect(asked).toMatchObject({ waits: 'StillRunning' });
    expect(await watchCircuits(world.ledger.pool).restsMs(ENTRY)).toBeUndefined();
  });
});

describe('an order to a provider that calls back', () => {
  const seen: CallContext[] = [];
  const start = async (_request: unknown, context: CallContext) => {
    seen.push(context);
    return RUNNING;
  };

  it('has the callback URL only when the adapter can verify a call', async () => {
    const callbackUrl = 'https://api.example.com/api/v1/provider-callbacks/x';
    const isGenuine = async () => true;
    await submit(dependenciesOf({ provider: { start, isGenuine }, callbackUrl }), await newJob());
    expect(seen.at(-1)).toMatchObject({ callbackUrl });
    await submit(dependenciesOf({ provider: { start }, callbackUrl }), await newJob());
    expect(seen.at(-1)).not.toHaveProperty('callbackUrl');
    await submit(dependenciesOf({ provider: { start, isGenuine } }), await newJob());
    expect(seen.at(-1)).not.toHaveProperty('callbackUrl');
  });
});

describe('a job that ends while its provider works', () => {
  const ending = (state: 'cancelled' | 'timed_out' | 'failed') => ({
    state,
    failure: { code: 'cancelled' as const, message: 'The job was cancelled.' },
  });

  async function runningJob(dependencies: ActivityDependencies): Promise<AudioGeneration> {
    const job = await newJob(await world.ledger.account({ usd: 1_000n }));
    const { queueId: operationId, accountId } = job;
    await charge(world.ledger.pool, order(accountId, both(100n), { operationId }));
    await submit(dependencies, job);
    return job;
  }

  it.each(['cancelled', 'timed_out'] as const)(
    'is cancelled at its provider once, after the refund, when it is %s',
    async (state) => {
      const stopped: unknown[] = [];
      let refunded: string | null | undefined;
      const cancel: NonNullable<GenerationProvider['cancel']> = async (operation) => {
        refunded ??= (await readJob(world.ledger.pool, job.queueId))?.refundId;
        stopped.push(operation);
        return true;
      };
      const dependencies = dependenciesOf({ provider: { cancel } });
      const job = await runningJob(dependencies);
      for (const _ of [1, 2]) await endJob(dependencies, { queueId: job.queueId, ...ending(state) });
      await until('the provider hears of it', () => stopped.length > 0);
      await sleep(50);
      expect(stopped).toEqual([{ id: 'op' }]);
      expect(refunded).toBe(job.queueId);
    },
  );

  it('is refunded at once when the provider does not answer the cancellation, or fails', async () => {
    for (const cancel of [() => new Promise<boolean>(() => undefined), () => Promise.reject(new Error('no'))]) {
      const dependencies = dependenciesOf({ provider: { cancel } });
      const job = await runningJob(dependencies);
      const ended = await endJob(dependencies, { queueId: job.queueId, ...ending('cancelled') });
      expect(ended).toEqual({ state: 'cancelled', refundId: job.queueId });
    }
    await until('the failure is in the log', () => lines.some(({ level }) => level === 'warn'));
  });

  it('is not cancelled at a provider that reported its end itself, or never gave a handle', async () => {
    let stopped = 0;
    const cancel = async () => {
      stopped += 1;
      return true;
    };
    const failing = dependenciesOf({ provider: { cancel } });
    const job = await runningJob(failing);
    await endJob(failing, { queueId: job.queueId, ...ending('failed') });
    const start = async (): Promise<Outcome> => ({ status: 'unknown', detail: 'silence' });
    const silent = dependenciesOf({ provider: { cancel, start } });
    const lost = await runningJob(silent);
    await endJob(silent, { queueId: lost.queueId, ...ending('timed_out') });
    await sleep(50);
    expect(stopped).toBe(0);
  });

  const cancelled = { ...ending('cancelled'), isEndedByClient: true };
  const refundedToday = async (accountId: string) => {
    const { rows } = await world.ledger.owner.query('select usd from refunded_days where account_id = $1', [accountId]);
    return rows.map(({ usd }) => String(usd));
  };

  it('continues when its client cancels beyond the refund budget and its provider does not stop', async () => {
    const never = dependenciesOf({ provider: { cancel: async () => false }, refundedPerDay: 0n });
    const job = await runningJob(never);
    const answer = await endJob(never, { queueId: job.queueId, ...cancelled });
    expect(answer).toEqual({ state: 'submitted', refused: 'refund_budget' });
    expect(await readJob(world.ledger.pool, job.queueId)).toMatchObject({
      state: 'submitted',
      refundId: null,
    });
    expect((await world.ledger.balance(job.accountId)).usd).toBe(900n);
    expect(await refundedToday(job.accountId)).toEqual([]);
    // Its deadline and a failure of its provider do not count as cancelled by the client.
    const ended = await endJob(never, { queueId: job.queueId, ...ending('timed_out') });
    expect(ended).toMatchObject({ state: 'timed_out', refundId: job.queueId });
    expect((await world.ledger.balance(job.accountId)).usd).toBe(1_000n);
  });

  it('is cancelled beyond the budget when its provider stops, was not asked, or is paid nothing', async () => {
    const settings: Setting[] = [
      { provider: { cancel: async () => true } },
      { provider: { start: async () => ({ status: 'busy', reason: 'concurrency' }) } },
      { provider: { repeatable: true } },
    ];
    for (const setting of settings) {
      const dependencies = dependenciesOf({ ...setting, refundedPerDay: 0n });
      const job = await runningJob(dependencies);
      const ended = await endJob(dependencies, { queueId: job.queueId, ...cancelled });
      expect(ended).toMatchObject({ state: 'cancelled', refundId: job.queueId });
      expect((await world.ledger.balance(job.accountId)).usd).toBe(1_000n);
      expect(await refundedToday(job.accountId)).toEqual([]);
    }
  });

  it('takes no more than the budget when many are cancelled at once', async () => {
    const dependencies = dependenciesOf({ provider: {}, refundedPerDay: 3n });
    const accountId = await world.ledger.account({ usd: 1_000n });
    const jobs: string[] = [];
    for (let count = 0; count < 8; count += 1) {
      const job = await newJob(accountId);
      const { queueId: operationId } = job;
      await charge(world.ledger.pool, order(accountId, both(1n), { operationId }));
      await submit(dependencies, job);
      jobs.push(operationId);
    }
    const ended = await Promise.all(jobs.map((queueId) => endJob(dependencies, { queueId, ...cancelled })));
    expect(ended.filter(({ refused }) => refused)).toHaveLength(5);
    expect((await world.ledger.balance(accountId)).usd).toBe(995n);
    expect(await refundedToday(accountId)).toEqual(['3']);
  });

  it('gives its part of the budget back when the provider reports afterwards that it stopped', async () => {
    const dependencies = dependenciesOf({ provider: { cancel: async () => true }, refundedPerDay: 1n });
    for (let round = 0; round < 3; round += 1) {
      const job = await runningJob(dependencies);
      expect(await endJob(dependencies, { queueId: job.queueId, ...cancelled })).toMatchObject({
        state: 'cancelled',
      });
      const isReturned = async () => (await refundedToday(job.accountId)).join() === '0';
      await until('the budget is whole again', isReturned);
    }
  });

  it('gives the budget back to the day of the refund, also when its provider stops after midnight', async () => {
    await world.ledger.setClock('2027-03-01T23:59:59Z');
    const midnight = async () => {
      await world.ledger.setClock('2027-03-02T00:00:01Z');
      return true;
    };
    const dependencies = dependenciesOf({ provider: { cancel: midnight }, refundedPerDay: 1n });
    const job = await runningJob(dependencies);
    await endJob(dependencies, { queueId: job.queueId, ...cancelled });
    await until('the budget is whole again', async () => (await refundedToday(job.accountId)).join() === '0');
  });
});
