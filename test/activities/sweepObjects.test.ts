/** Which objects of storage a sweep removes: those that no job needs any more, and none that one may still need. */
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

/** A storage of these objects, in pages of two; by the store's clock it is `NOW`. */
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

it.each(JOB_STATES)('of a job that is %s, what it handed in and what was made go or stay', async (state) => {
  const queueId = await jobIn(state);
  const incoming = [sourceKey(queueId), mediaKey(queueId, 0), sealedOrderKey(queueId)];
  const made = outputKey(queueId, 'attempt');
  const { storage, removed } = storing([...incoming, made].map((key) => object(key)));
  const isRunning = state === 'accepted' || state === 'submitted';
  const expected = [...(isRunning ? [] : incoming), ...(isRunning || state === 'stored' ? [] : [made])];
  expect(await sweep(storage)).toEqual({ done: expected.length });
  expect(removed.sort()).toEqual(expected.sort());
});

it('an object without a job goes when it is older than the grace, by the clock of the store', async () => {
  const keys = [0, HOUR_MS - 1, HOUR_MS + 1].map((ageMs) => object(sourceKey(randomUUID()), ageMs));
  const usual = storing(keys);
  expect(await sweep(usual.storage)).toEqual({ done: 1 });
  expect(usual.removed).toEqual([keys[2]?.key]);
  const short = storing(keys);
  expect(await sweep(short.storage, 1)).toEqual({ done: 2 });
});

it('an object whose name is none of ours goes, too: nobody would ever ask for it', async () => {
  const { storage, removed } = storing([object('incoming/readme.txt'), object('output/x/y')]);
  expect(await sweep(storage)).toEqual({ done: 2 });
  expect(removed).toEqual(['incoming/readme.txt', 'output/x/y']);
});

it('every page is looked at, and other folders are not', async () => {
  const orphans = Array.from({ length: 5 }, () => object(sourceKey(randomUUID())));
  const { storage, removed } = storing([...orphans, object('characters/photo.png')]);
  expect(await sweep(storage)).toEqual({ done: 5 });
  expect(removed.sort()).toEqual(orphans.map(({ key }) => key).sort());
});

it('an output is gone before the job says so, and a second removal says nothing new', async () => {
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

it('a job that ended otherwise is not said to be deleted', async () => {
  const queueId = await jobIn('failed');
  const { storage } = storing([]);
  await removeMedia({ pool: world.ledger.pool, storage } as unknown as ActivityDependencies, {
    queueId,
    as: 'expired',
  });
  expect(await readJob(world.ledger.pool, queueId)).toMatchObject({ state: 'failed' });
});

it('of the outputs of several attempts all go but the one that counts', async () => {
  const keys = ['one', 'two'].map((attempt) => outputKey('queue', attempt));
  const { storage, removed } = storing(keys.map((key) => object(key)));
  await removeOutputs({ storage } as unknown as ActivityDependencies, 'queue', keys[0]);
  expect(removed).toEqual(keys.slice(1));
});
