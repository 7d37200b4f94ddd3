/** A sweep removes the objects that no job needs any more, and none that a job may still need. */
import { randomUUID } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import { removeMedia, removeOutputs } from '../../activities/endJob.ts';
import { performDuty } from '../../activities/upkeep.ts';
import { JOB_STATES, type JobState } from '../../domain/jobs.ts';
import { timelineOf } from '../../infra/postgres/jobEvents.ts';
import { readJob } from '../../infra/postgres/jobs.ts';
import { mediaKey, outputKey, sealedOrderKey, sourceKey } from '../../infra/s3/objectKeys.ts';
import type { StoredObject } from '../../infra/s3/storage.ts';
import { type FlowWorld, openFlowWorld } from '../infra/postgres/flowWorld.ts';
import { setJobState } from './setJobState.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const HOUR_MS = 3_600_000;

let world: FlowWorld;
beforeAll(async () => {
  world = await openFlowWorld();
});
afterAll(() => world.close());

/** Storage with these objects in pages of two. The store's clock is at `NOW`. */
function storing(objects: StoredObject[], events: string[] = []) {
  const list = async (prefix: string, from = '0') => {
    const below = objects.filter(({ key }) => key.startsWith(prefix));
    const at = Number(from);
    const next = at + 2 < below.length ? String(at + 2) : undefined;
    return { objects: below.slice(at, at + 2), next, at: NOW };
  };
  const removed: string[] = [];
  const remove = async (key: string) => {
    removed.push(key);
    events.push(`removed ${key}`);
  };
  return { removed, storage: { list, remove } };
}

const object = (key: string, ageMs = 2 * HOUR_MS): StoredObject => ({
  ...{ key, sizeBytes: 1, modifiedAt: new Date(NOW.getTime() - ageMs) },
});

function sweep(storage: object, orphanGraceMs?: number) {
  const dependencies = { pool: world.ledger.pool, storage } as unknown as ActivityDependencies;
  const options = orphanGraceMs === undefined ? {} : { orphanGraceMs };
  return new MockActivityEnvironment().run(() => performDuty(dependencies, 'sweepObjects', options));
}

async function jobIn(state: JobState): Promise<string> {
  const [queueId = ''] = await world.jobs(await world.account(), 1);
  await setJobState(world, queueId, state);
  return queueId;
}

it.each(JOB_STATES)('removes exactly the unneeded inputs and outputs of a job that is %s', async (state) => {
  const queueId = await jobIn(state);
  const incoming = [sourceKey(queueId), mediaKey(queueId, 0), sealedOrderKey(queueId)];
  const made = outputKey(queueId, 'attempt');
  const { storage, removed } = storing([...incoming, made].map((key) => object(key)));
  const isRunning = state === 'accepted' || state === 'submitted';
  const expected = [...(isRunning ? [] : incoming), ...(isRunning || state === 'stored' ? [] : [made])];
  expect(await sweep(storage)).toEqual({ done: expected.length });
  expect(removed.sort()).toEqual(expected.sort());
});

it('removes an object without a job after the grace period, by the clock of the store', async () => {
  const keys = [0, HOUR_MS - 1, HOUR_MS + 1].map((ageMs) => object(sourceKey(randomUUID()), ageMs));
  const usual = storing(keys);
  expect(await sweep(usual.storage)).toEqual({ done: 1 });
  expect(usual.removed).toEqual([keys[2]?.key]);
  const short = storing(keys);
  expect(await sweep(short.storage, 1)).toEqual({ done: 2 });
});

it('removes an object with an unknown name, which no job could use', async () => {
  const { storage, removed } = storing([object('incoming/readme.txt'), object('output/x/y')]);
  expect(await sweep(storage)).toEqual({ done: 2 });
  expect(removed).toEqual(['incoming/readme.txt', 'output/x/y']);
});

it('looks at every page and leaves other folders alone', async () => {
  const orphans = Array.from({ length: 5 }, () => object(sourceKey(randomUUID())));
  const { storage, removed } = storing([...orphans, object('characters/photo.png')]);
  expect(await sweep(storage)).toEqual({ done: 5 });
  expect(removed.sort()).toEqual(orphans.map(({ key }) => key).sort());
});

it('removes an output before the job says so, and reports the removal once', async () => {
  const queueId = await jobIn('stored');
  const events: string[] = [];
  const made = [outputKey(queueId, 'one'), outputKey(queueId, 'two')];
  const { storage } = storing(
    made.map((key) => object(key)),
    events,
  );
  const dependencies = { pool: world.ledger.pool, storage } as unknown as ActivityDependencies;
  await removeMedia(dependencies, { queueId, as: 'deleted' });
  expect(events.slice(0, 2)).toEqual(made.map((key) => `removed ${key}`));
  expect(await readJob(world.ledger.pool, queueId)).toMatchObject({ state: 'deleted' });
  await removeMedia(dependencies, { queueId, as: 'deleted' });
  const timeline = await timelineOf(world.ledger.pool, queueId);
  expect(timeline.filter(({ event }) => event === 'deleted')).toHaveLength(1);
});

it('does not mark a failed job as deleted', async () => {
  const queueId = await jobIn('failed');
  const { storage } = storing([]);
  await removeMedia({ pool: world.ledger.pool, storage } as unknown as ActivityDependencies, {
    queueId,
    as: 'expired',
  });
  expect(await readJob(world.ledger.pool, queueId)).toMatchObject({ state: 'failed' });
});

it('removes the outputs of all attempts but the stored one', async () => {
  const keys = ['one', 'two'].map((attempt) => outputKey('queue', attempt));
  const { storage, removed } = storing(keys.map((key) => object(key)));
  await removeOutputs({ storage } as unknown as ActivityDependencies, 'queue', keys[0]);
  expect(removed).toEqual(keys.slice(1));
});
