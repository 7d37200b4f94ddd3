/** The provider's step, where a provider fails, is full, calls back or is told to stop; the database decides. */
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
  /** Nano USD; by default no refund of a client's is counted. */
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

/** The step's result, or what it asks to be tried again with. */
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

describe('a job without a place', () => {
  it('asks again as the same step, and is handed over when a place is free', async () => {
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

  it('gives its place back when the provider itself is full, and asks again as long as that says', async () => {
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

  it('is not asked at once, even where it says so', async () => {
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
  it.each(ANSWERS)(
    '%s, five times in a row, opens its circuit or not as the table says',
    async (_name, outcome, opens) => {
      const dependencies = dependenciesOf({ provider: { start: async () => outcome } });
      for (let times = 0; times < 5; times += 1) await submit(dependencies, await newJob());
      const restsMs = await watchCircuits(world.ledger.pool).restsMs(ENTRY);
      expect(restsMs !== undefined).toBe(opens);
      expect(lines.filter(({ words }) => words === 'provider circuit opened')).toHaveLength(opens ? 1 : 0);
    },
  );

  it('gets no further order until one that tries it is answered, which is told in the log', async () => {
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

  it('is asked about running jobs all the same, and an answer closes the circuit', async () => {
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

describe('an order at a provider that calls back', () => {
  const seen: CallContext[] = [];
  const start = async (_request: unknown, context: CallContext) => {
    seen.push(context);
    return RUNNING;
  };

  it('says where, when the adapter can tell a genuine call', async () => {
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
    'is told to its provider when it is %s, once, after the refund',
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

  it('is refunded at once when the provider does not answer, or fails', async () => {
    for (const cancel of [() => new Promise<boolean>(() => undefined), () => Promise.reject(new Error('no'))]) {
      const dependencies = dependenciesOf({ provider: { cancel } });
      const job = await runningJob(dependencies);
      const ended = await endJob(dependencies, { queueId: job.queueId, ...ending('cancelled') });
      expect(ended).toEqual({ state: 'cancelled', refundId: job.queueId });
    }
    await until('the failure is in the log', () => lines.some(({ level }) => level === 'warn'));
  });

  it('is not told where the provider said itself that it is over, or never gave a handle', async () => {
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

  const cancelled = { ...ending('cancelled'), isClients: true };
  const refundedToday = async (accountId: string) => {
    const { rows } = await world.ledger.owner.query('select usd from refunded_days where account_id = $1', [accountId]);
    return rows.map(({ usd }) => String(usd));
  };

  it('goes on when its client cancels beyond the budget of the day and its provider does not stop', async () => {
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
    // Neither its deadline nor its provider's failure is the client's doing.
    const ended = await endJob(never, { queueId: job.queueId, ...ending('timed_out') });
    expect(ended).toMatchObject({ state: 'timed_out', refundId: job.queueId });
    expect((await world.ledger.balance(job.accountId)).usd).toBe(1_000n);
  });

  it('is cancelled beyond the budget where its provider really stops, was not asked, or is paid nothing', async () => {
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

  it('takes no more than the budget, however many are cancelled at once', async () => {
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

  it('has its refund counted no more when the provider says afterwards that it stopped', async () => {
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

  it('gives the budget back to the day that it was taken from, also where its provider stops after midnight', async () => {
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
