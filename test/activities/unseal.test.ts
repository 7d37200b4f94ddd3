/** The sealed order of an activity, the files of its media, and its work folder. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, describe, expect, it } from 'vitest';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import type { MeasuredOrder } from '../../activities/jobTerms.ts';
import { requestOf } from '../../activities/requestOf.ts';
import { unseal, waitUntilStored } from '../../activities/unseal.ts';
import { type WorkFolder, withWorkFolder } from '../../activities/withWorkFolder.ts';
import type { MeasuredMedium } from '../../domain/generation/media.ts';
import { type SealedOrder, sealOrder } from '../../domain/generation/sealedOrder.ts';
import { mediaKey, sealedOrderKey, sourceKey } from '../../infra/s3/objectKeys.ts';
import type { AudioGeneration, VideoGeneration, VoiceChange } from '../../workflows/contract.ts';
import { video } from '../domain/generation/models.ts';

const QUEUE_ID = '00000000-0000-4000-8000-000000000001';
const folder = mkdtempSync(path.join(tmpdir(), 'unseal-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Storage with these objects, which records the digest that each file must have. */
function storing(objects: Record<string, string>, asked: (string | undefined)[] = []) {
  return {
    get: async (key: string) => (key in objects ? Readable.from([objects[key]]) : undefined),
    async getFile(key: string, { path: target, sha256 }: { path: string; sha256?: string }) {
      asked.push(sha256);
      const bytes = objects[key];
      if (bytes !== undefined) writeFileSync(target, bytes);
      return bytes !== undefined;
    },
  };
}

const given = (more: object) => ({ models: new Map(), ...more }) as unknown as ActivityDependencies;
const place: WorkFolder = { folder, signal: new AbortController().signal, heartbeat: () => undefined };

describe('an object that is stored together with its order', () => {
  it.each([1, 4])('is returned by the first look that finds it, here look %i', async (there) => {
    let looks = 0;
    const look = async () => {
      looks += 1;
      return looks < there ? undefined : `look ${looks}`;
    };
    expect(await waitUntilStored(look)).toBe(`look ${there}`);
    expect(looks).toBe(there);
  });

  it.each([undefined, null, false, 0, ''])('makes the activity retry when it does not come (%j)', async (nothing) => {
    await expect(waitUntilStored(async () => nothing)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('is not requested again when the storage itself fails', async () => {
    let looks = 0;
    const look = async () => {
      looks += 1;
      throw new Error('storage does not answer');
    };
    await expect(waitUntilStored(look)).rejects.toThrow('storage does not answer');
    expect(looks).toBe(1);
  });
});

describe('a sealed order', () => {
  const order: SealedOrder = { order: { kind: 'audio', prompt: 'rain' }, media: [] };

  it('is read from its object', async () => {
    const storage = storing({ [sealedOrderKey(QUEUE_ID)]: sealOrder(order) });
    expect(await unseal(given({ storage }), QUEUE_ID)).toEqual(order);
  });

  it('that is damaged is refused', async () => {
    const storage = storing({ [sealedOrderKey(QUEUE_ID)]: '{"media":[]}' });
    await expect(unseal(given({ storage }), QUEUE_ID)).rejects.toThrow('damaged');
  });
});

const ANY = {
  ...{
    queueId: QUEUE_ID,
    accountId: 'a',
    keyId: null,
    requestId: 'r',
    provider: 'p',
  },
  providerQueue: 'providers',
  acceptBy: 0,
  timing: { acceptMs: 1, deadlineMs: 1, retentionMs: 1, pollFirstMs: 1, pollLongestMs: 1, heartbeatMs: 1 },
} as const;

describe('the request to a provider', () => {
  it('of a voice change has the measured bytes and their measurements', async () => {
    const asked: string[] = [];
    const storage = storing({ [sourceKey(QUEUE_ID)]: 'sound' }, asked);
    const job: VoiceChange = {
      ...{ ...ANY, kind: 'voice-changer', modelId: 'voice', source: { from: 'url' }, voice: 'alto' },
      ...{ removeBackgroundNoise: true, seed: 7 },
    };
    const source = {
      format: 'mp3',
      ...{ sizeBytes: 5, sha256: 'ab'.repeat(32), demuxer: 'mp3', contentType: 'audio/mpeg' },
      ...{ decodedSeconds: 2.5, lossy: true, measuredAt: '' },
    } as const;
    const request = await requestOf(given({ storage }), { job, source }, place);
    expect(request).toEqual({
      ...{
        kind: 'voice-changer',
        reference: QUEUE_ID,
        upstreamModel: 'voice',
        sourcePath: path.join(folder, 'source'),
      },
      ...{ sourceContentType: 'audio/mpeg', sourceDemuxer: 'mp3', sourceSeconds: 2.5, voice: 'alto' },
      ...{ removeBackgroundNoise: true, seed: 7 },
    });
    expect(asked).toEqual([source.sha256]);
    expect(readFileSync(path.join(folder, 'source'), 'utf8')).toBe('sound');
    const { seed: _, ...seedless } = job;
    expect(await requestOf(given({ storage }), { job: seedless, source }, place)).not.toHaveProperty('seed');
  });

  it('of an audio order is the sealed order with the model name of the provider', async () => {
    const sealed: SealedOrder = { order: { kind: 'audio', prompt: 'rain', durationSeconds: 30 }, media: [] };
    const storage = storing({ [sealedOrderKey(QUEUE_ID)]: sealOrder(sealed) });
    const job: AudioGeneration = { ...ANY, kind: 'audio', modelId: 'tune', usage: { characters: 4 } };
    const models = new Map([['tune', { upstreamModel: 'vendor/tune-2' }]]);
    expect(await requestOf(given({ storage, models }), { job, source: { media: [] } }, place)).toEqual({
      ...{ kind: 'audio', prompt: 'rain', durationSeconds: 30 },
      ...{ reference: QUEUE_ID, upstreamModel: 'vendor/tune-2' },
    });
  });

  it('of a video order has its media in order, each as it was measured', async () => {
    const media: MeasuredMedium[] = ['first', 'second'].map((name, index) => ({
      ...{
        role: 'reference_image',
        index,
        kind: 'image',
        sizeBytes: 5,
        sha256: name,
        contentType: 'image/png',
      },
    }));
    const sealed: SealedOrder = {
      order: { kind: 'video', prompt: 'a tram' },
      media: [{ role: 'image', index: 0, url: 'https://example.com/a.png' }],
    };
    const asked: string[] = [];
    const objects = {
      [sealedOrderKey(QUEUE_ID)]: sealOrder(sealed),
      [mediaKey(QUEUE_ID, 0)]: 'a',
      [mediaKey(QUEUE_ID, 1)]: 'b',
    };
    const job: VideoGeneration = { ...ANY, kind: 'video', modelId: 'film', mediaCount: 2, usage: {} };
    const order: MeasuredOrder = { job, source: { media } };
    const models = new Map([['film', video()]]);
    const request = await requestOf(given({ storage: storing(objects, asked), models }), order, place);
    expect(request).toMatchObject({ kind: 'video', prompt: 'a tram', upstreamModel: 'film' });
    const files = 'media' in request ? request.media : [];
    expect(files.map(({ path: _, ...measured }) => measured)).toEqual(media);
    expect(files.map((file) => readFileSync(file.path, 'utf8'))).toEqual(['a', 'b']);
    expect(asked).toEqual(['first', 'second']);
    expect(JSON.stringify(request)).not.toContain('example.com');
  });

  it('is retried when a medium is not in storage', async () => {
    const sealed: SealedOrder = { order: { kind: 'video' }, media: [] };
    const storage = storing({ [sealedOrderKey(QUEUE_ID)]: sealOrder(sealed) });
    const job: VideoGeneration = { ...ANY, kind: 'video', modelId: 'film', mediaCount: 1, usage: {} };
    const image = {
      role: 'image',
      index: 0,
      kind: 'image',
      sizeBytes: 1,
      sha256: '',
      contentType: 'image/png',
    } as const;
    const order: MeasuredOrder = { job, source: { media: [image] } };
    await expect(requestOf(given({ storage }), order, place)).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('the folder of an activity', () => {
  const workplace = () => {
    const removed: string[] = [];
    const folders = {
      create: async () => '/private',
      remove: async (name: string) => void removed.push(name),
    };
    return { removed, dependencies: given({ folders }) };
  };

  it.each([
    ['it came to', async () => 'done'],
    ['it failed with', () => Promise.reject(new Error('done'))],
  ])('is removed after it, whatever %s', async (_what, step) => {
    const { removed, dependencies } = workplace();
    let seen: string | undefined;
    const run = () =>
      withWorkFolder(dependencies, ({ folder: own }) => {
        seen = own;
        expect(removed).toEqual([]);
        return step();
      });
    await new MockActivityEnvironment().run(run).catch(() => undefined);
    expect([seen, ...removed]).toEqual(['/private', '/private']);
  });

  it('comes with the heartbeat and the cancellation of its activity', async () => {
    const environment = new MockActivityEnvironment();
    let beats = 0;
    environment.on('heartbeat', () => {
      beats += 1;
    });
    const step = () =>
      withWorkFolder(workplace().dependencies, async (own) => {
        own.heartbeat();
        return own.signal;
      });
    const signal = (await environment.run(step)) as AbortSignal;
    expect(beats).toBe(1);
    expect(signal.aborted).toBe(false);
    environment.cancel('CANCELLED');
    expect(signal.aborted).toBe(true);
  });
});
