/** Submits jobs without media to a simulated service, as the API does, and reads their results. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { submitGeneration } from '../api/queue/generationClient.ts';
import { sealOrder } from '../domain/generation/sealedOrder.ts';
import { createDatabaseClock } from '../infra/postgres/databaseClock.ts';
import { openPool } from '../infra/postgres/pool.ts';
import { sealedOrderKey } from '../infra/s3/objectKeys.ts';
import { openTemporal } from '../infra/temporal/connect.ts';
import type { AudioGeneration } from '../workflows/contract.ts';
import { inLanes } from './statistics.ts';
import { storageOf, type World } from './world.ts';

const PROMPT = 'rain on a roof';
const LANES = 32;

export function musicModel(id: string, provider: string): object {
  return {
    ...{ id, type: 'music', provider, privacy: 'private' },
    spec: { name: id, pricing: { generation: { usd: 0.01, diem: 0.01 } } },
  };
}

export interface JobLoad {
  pool: pg.Pool;
  /** Resolves when all jobs are accepted and charged. */
  submit(accountId: string, count: number, model: { modelId: string; provider: string }): Promise<string[]>;
  untilStored(jobs: readonly string[], limitMs: number): Promise<void>;
  /** Milliseconds from acceptance to output, by the clock of the database. */
  executionMs(job: string): Promise<number>;
  /** Milliseconds from the first submission to the last output. */
  workedMs(jobs: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

export interface Polls {
  pollFirstMs: number;
  pollLongestMs: number;
}

export function openJobLoad(world: World, polls: Polls): JobLoad {
  const { environment } = world;
  const value = (name: string) => environment[name] ?? '';
  const pool = openPool({ databaseUrl: value('DATABASE_URL'), applicationName: 'farebox-bench', max: 4 });
  const temporal = openTemporal({
    address: value('TEMPORAL_ADDRESS'),
    namespace: value('TEMPORAL_NAMESPACE'),
  });
  const storage = storageOf(world);
  const conductor = { core: { clock: createDatabaseClock() }, jobs: { temporal } };
  const sealed = Buffer.from(sealOrder({ order: { kind: 'audio', prompt: PROMPT }, media: [] }));
  return {
    pool,
    async submit(accountId, count, model) {
      const jobs: string[] = [];
      await inLanes(LANES, count, async () => {
        const input = { ...orderOf(accountId, polls), ...model };
        await storage.putBytes(sealedOrderKey(input.queueId), sealed, { contentType: 'application/json' });
        const answer = await submitGeneration(conductor, input);
        if (answer === 'ended' || !answer.accepted) throw new Error(`not accepted: ${JSON.stringify(answer)}`);
        jobs.push(input.queueId);
      });
      return jobs;
    },
    async untilStored(jobs, limitMs) {
      const startMs = performance.now();
      for (;;) {
        const passedMs = performance.now() - startMs;
        if ((await countStored(pool, jobs)) === jobs.length) return;
        if (passedMs > limitMs) throw new Error(`not all of ${jobs.length} jobs were done in ${limitMs} ms`);
        await sleep(100);
      }
    },
    executionMs: (job) => readMsBetween(pool, [job], 'created_at'),
    workedMs: (jobs) => readMsBetween(pool, jobs, 'submitted_at'),
    async close() {
      storage.close();
      await Promise.all([pool.end(), temporal.close()]);
    },
  };
}

function orderOf(accountId: string, polls: Polls): Omit<AudioGeneration, 'modelId' | 'provider'> {
  return {
    ...{ queueId: randomUUID(), accountId, keyId: null, requestId: randomUUID().replaceAll('-', '') },
    ...{ kind: 'audio', providerQueue: 'providers', usage: { characters: PROMPT.length } },
    acceptBy: Date.now() + 60_000,
    timing: { acceptMs: 60_000, deadlineMs: 1_800_000, retentionMs: 3_600_000, heartbeatMs: 5_000, ...polls },
  };
}

async function countStored(pool: pg.Pool, jobs: readonly string[]): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::integer as count from jobs where queue_id = any ($1) and state = 'stored'`,
    [jobs],
  );
  return rows[0]?.count ?? 0;
}

async function readMsBetween(
  pool: pg.Pool,
  jobs: readonly string[],
  from: 'created_at' | 'submitted_at',
): Promise<number> {
  const { rows } = await pool.query<{ ms: number | null }>(
    `select (extract(epoch from max(stored_at) - min(${from})) * 1000)::float8 as ms from jobs
      where queue_id = any ($1)`,
    [jobs],
  );
  return rows[0]?.ms ?? Number.NaN;
}
