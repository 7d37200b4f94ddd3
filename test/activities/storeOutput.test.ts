/** A provider's output: measured here, kept while its job still waits for it, and removed otherwise. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import { storeOutput } from '../../activities/storeOutput.ts';
import { timelineOf } from '../../infra/postgres/jobEvents.ts';
import { readJob } from '../../infra/postgres/jobs.ts';
import { outputPrefix, sealedOrderKey, sourceKey } from '../../infra/s3/objectKeys.ts';
import type { AudioGeneration, GenerationInput, VideoGeneration, VoiceChange } from '../../workflows/contract.ts';
import { toneWav } from '../acceptance/recordings.ts';
import { type FlowWorld, openFlowWorld } from '../infra/postgres/flowWorld.ts';
import { setJobState } from './setJobState.ts';

const WAV = toneWav(1);

let world: FlowWorld;
let folder: string;
beforeAll(async () => {
  world = await openFlowWorld();
  folder = mkdtempSync(path.join(tmpdir(), 'output-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await world.close();
});

async function newJob(): Promise<AudioGeneration> {
  const accountId = await world.account();
  const [queueId = ''] = await world.jobs(accountId, 1);
  return {
    ...{ kind: 'audio', queueId, accountId, keyId: null, requestId: 'r', modelId: 'model', provider: 'slow' },
    ...{ providerQueue: 'providers', acceptBy: 0, usage: { characters: 1 } },
    timing: {
      acceptMs: 1,
      deadlineMs: 1,
      retentionMs: 60_000,
      pollFirstMs: 1,
      pollLongestMs: 1,
      heartbeatMs: 1,
    },
  };
}

interface Put {
  key: string;
  contentType: string;
  sha256: string;
  sizeBytes: number;
}

function storage(present: string[] = []) {
  const puts: Put[] = [];
  const removed: string[] = [];
  return {
    puts,
    removed,
    storage: {
      putFile: async (key: string, _path: string, about: Omit<Put, 'key'>) => void puts.push({ key, ...about }),
      remove: async (key: string) => void removed.push(key),
      list: async (prefix: string) => ({ objects: present.map((name) => ({ key: `${prefix}${name}` })) }),
    },
  };
}

function store(
  job: GenerationInput,
  bytes: Buffer,
  {
    stored = storage(),
    attempt = 1,
    providerReference,
  }: { stored?: ReturnType<typeof storage>; attempt?: number; providerReference?: string } = {},
) {
  const file = path.join(folder, job.queueId);
  writeFileSync(file, bytes);
  const dependencies = {
    pool: world.ledger.pool,
    storage: stored.storage,
  } as unknown as ActivityDependencies;
  const output = {
    path: file,
    contentType: 'audio/x-said-by-the-provider',
    ...(providerReference !== undefined && { providerReference }),
  };
  const place = { folder, signal: new AbortController().signal, heartbeat: () => undefined };
  return new MockActivityEnvironment({ attempt }).run(() => storeOutput(dependencies, job, { output, place }));
}

describe('a valid output', () => {
  it('is stored under its own name with its measured type, size and digest', async () => {
    const job = await newJob();
    const stored = storage();
    expect(await store(job, WAV, { stored, providerReference: 'vendor-7' })).toEqual({ kind: 'stored' });
    const sha256 = createHash('sha256').update(WAV).digest('hex');
    expect(stored.puts).toMatchObject([{ contentType: 'audio/wav', sizeBytes: WAV.length, sha256 }]);
    expect(stored.puts[0]?.key.startsWith(outputPrefix(job.queueId))).toBe(true);
    expect(await readJob(world.ledger.pool, job.queueId)).toMatchObject({ state: 'stored' });
    const timeline = await timelineOf(world.ledger.pool, job.queueId);
    expect(timeline).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ event: 'acknowledged', detail: 'vendor-7' }),
        expect.objectContaining({ event: 'stored', detail: `${WAV.length} bytes` }),
      ]),
    );
  });

  it('of a second attempt removes the output of the first and the sealed order', async () => {
    const job = await newJob();
    const stored = storage(['earlier']);
    await store(job, WAV, { stored, attempt: 2 });
    expect(stored.removed).toEqual([`${outputPrefix(job.queueId)}earlier`, sealedOrderKey(job.queueId)]);
    const first = storage(['earlier']);
    await store(await newJob(), WAV, { stored: first });
    expect(first.removed.filter((key) => key.startsWith('output/'))).toEqual([]);
  });

  it.each([
    ['an upload', { from: 'upload', sizeBytes: 1, sha256: 'ab' }, false],
    ['a URL', { from: 'url' }, true],
  ] as const)('of a voice change from %s has its source removed', async (_what, source, isSealed) => {
    const { usage: _, ...ordered } = await newJob();
    const job: VoiceChange = {
      ...ordered,
      kind: 'voice-changer',
      source,
      voice: 'alto',
      removeBackgroundNoise: false,
    };
    const stored = storage();
    await store(job, WAV, { stored });
    expect(stored.removed).toContain(sourceKey(job.queueId));
    expect(stored.removed.includes(sealedOrderKey(job.queueId))).toBe(isSealed);
  });
});

describe('an invalid output', () => {
  it.each([
    ['empty', Buffer.alloc(0)],
    ['text', Buffer.from('<html>Service unavailable</html>')],
    ['a picture', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
    ['cut off', WAV.subarray(0, 40)],
  ])('that is %s fails the job and is not stored', async (_what, bytes) => {
    const job = await newJob();
    const stored = storage();
    expect(await store(job, bytes, { stored })).toEqual({
      ...{
        kind: 'failed',
        code: 'provider_failed',
        message: 'The provider did not deliver a usable recording.',
      },
    });
    expect(stored.puts).toEqual([]);
    expect(await readJob(world.ledger.pool, job.queueId)).toMatchObject({ state: 'accepted' });
  });

  it('that is sound for a video order is reported as an unusable video', async () => {
    const { usage: _, ...ordered } = await newJob();
    const job: VideoGeneration = { ...ordered, kind: 'video', mediaCount: 0, usage: {} };
    expect(await store(job, WAV)).toMatchObject({ message: 'The provider did not deliver a usable video.' });
  });
});

describe('a late output', () => {
  it.each(['failed', 'timed_out', 'cancelled', 'deleted', 'expired'] as const)(
    'for a job that is %s is removed',
    async (state) => {
      const job = await newJob();
      await setJobState(world, job.queueId, state);
      const stored = storage();
      expect(await store(job, WAV, { stored })).toEqual({ kind: 'ended' });
      expect(stored.removed).toEqual(stored.puts.map(({ key }) => key));
      expect(await readJob(world.ledger.pool, job.queueId)).toMatchObject({ state });
    },
  );

  it('for a job whose other output is stored already is removed and leaves that one alone', async () => {
    const job = await newJob();
    await world.finish(job.queueId);
    const stored = storage();
    expect(await store(job, WAV, { stored })).toEqual({ kind: 'ended' });
    expect(stored.removed).toEqual(stored.puts.map(({ key }) => key));
  });
});
