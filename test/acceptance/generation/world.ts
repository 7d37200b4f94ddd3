/** Deployment with simulated and local music and video models, and a media server for orders. */
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { type ElevenLabsStub, startElevenLabsStub } from '../../stubs/elevenlabs.ts';
import { type Deployment, eventually, openDeployment } from '../deployment.ts';
import { voiceChanger } from '../models.ts';
import { type MediaServer, startMediaServer } from './mediaServer.ts';
import {
  BY_SOURCE,
  BY_TIER,
  EVERY_MUSIC_OPTION,
  EVERYTHING,
  GUIDED,
  LINKED,
  music,
  OF_FACES,
  OF_ITS_OWN_LENGTH,
  OF_PICTURES,
  PER_LETTER,
  PER_PIECE,
  PER_SECOND,
  PER_VIDEO,
  UPSCALER,
  video,
} from './models.ts';
import { complete } from './orders.ts';

export interface World {
  farebox: Deployment;
  media: MediaServer;
  cloud: ElevenLabsStub;
  /** Configuration of the processes, for additional ones. */
  configuration: Record<string, unknown>;
}

/** Runs until it is cancelled. */
const ENDLESS = { outcome: 'hang', latencyMs: 600_000 };

const MUSIC = {
  'letter-music': music('letter-music', PER_LETTER),
  'second-music': music('second-music', PER_SECOND, { min_duration: 1, max_duration: 30 }),
  'tier-music': music('tier-music', BY_TIER),
  'piece-music': music('piece-music', PER_PIECE),
  'any-music': music('any-music', PER_SECOND, EVERY_MUSIC_OPTION),
};

const VIDEO = {
  'any-video': video('any-video', EVERYTHING),
  'piece-video': video('piece-video', PER_VIDEO),
  'auto-video': video('auto-video', OF_ITS_OWN_LENGTH),
  'source-video': video('source-video', BY_SOURCE),
  'upscale-video': video('upscale-video', UPSCALER),
  'guided-video': video('guided-video', GUIDED),
  'face-video': video('face-video', OF_FACES),
};

/** Tests of these models end before any output would exist. */
const ENDLESS_MODELS = { ...MUSIC, ...VIDEO };

const OTHERS: Record<string, { behaviour: object; model: object }> = {
  'quick-music': { behaviour: {}, model: music('quick-music', PER_PIECE) },
  'prudish-music': { behaviour: { outcome: 'content_policy' }, model: music('prudish-music', PER_PIECE) },
  'garbled-music': { behaviour: { outcome: 'garbage-output' }, model: music('garbled-music', PER_PIECE) },
  'bare-video': { behaviour: {}, model: video('bare-video') },
  'pictured-video': { behaviour: {}, model: video('pictured-video', OF_PICTURES) },
  'slow-video': { behaviour: { latencyMs: 1_000 }, model: video('slow-video') },
  'prudish-video': { behaviour: { outcome: 'content_policy' }, model: video('prudish-video', OF_PICTURES) },
  'garbled-video': { behaviour: { outcome: 'garbage-output' }, model: video('garbled-video') },
  'linked-video': { behaviour: {}, model: video('linked-video', LINKED) },
  'anonymous-video': { behaviour: {}, model: { ...video('anonymous-video'), privacy: 'anonymized' } },
  'some-voice': { behaviour: {}, model: voiceChanger('some-voice', 'simulated') },
};

function configure(media: MediaServer, cloud: ElevenLabsStub): Record<string, unknown> {
  const endless = Object.keys(ENDLESS_MODELS).map((id) => [id, ENDLESS]);
  const others = Object.entries(OTHERS).map(([id, { behaviour }]) => [id, behaviour]);
  const models = Object.fromEntries([...endless, ...others]);
  return {
    providers: {
      simulated: { kind: 'simulator', models },
      elevenlabs: {
        ...{ kind: 'elevenlabs', baseUrl: cloud.baseUrl, apiKeyEnv: 'CLOUD_KEY', allowPrivateNetwork: true },
      },
    },
    models: [...Object.values(ENDLESS_MODELS), ...Object.values(OTHERS).map(({ model }) => model)],
    fetch: { allowPrivateHosts: [media.host] },
    jobs: { deadlineMinutes: 10, pollFirstMs: 100, pollLongestMs: 300 },
  };
}

/**
 * Opens before the tests of a file and closes after them. The members are set once a test runs. `further` are
 * environment variables of the processes.
 */
export function useWorld(further: Record<string, string> = {}): World {
  const world = {} as World;
  beforeAll(async () => {
    world.cloud = await startElevenLabsStub();
    world.media = await startMediaServer();
    world.configuration = configure(world.media, world.cloud);
    const variables = { ...further, CLOUD_KEY: world.cloud.apiKey };
    world.farebox = await openDeployment({ configuration: world.configuration, variables });
  });
  afterAll(async () => {
    await world.farebox?.close();
    await world.cloud?.close();
    world.media?.close();
  });
  afterEach(() => clearUp(world));
  return world;
}

/** Checks the ledger after each test and ends its jobs for the next one. */
async function clearUp({ farebox }: World): Promise<void> {
  expect(await checkLedger(farebox.pool)).toEqual([]);
  const { api } = farebox.account;
  const { rows } = await farebox.pool.query<{ model: string; queueId: string; kind: string; state: string }>(
    `select model_id as model, queue_id as "queueId", kind, state from jobs
      where state in ('accepted', 'submitted', 'stored')`,
  );
  for (const { kind, state, ...job } of rows) {
    if (state !== 'stored') await api.post(`/jobs/${job.queueId}/cancel`);
    else if (kind === 'audio' || kind === 'video') await complete(api, { ...job, kind });
  }
}

/** Without a client request the deletion follows shortly after the answer. */
export async function expectNothingLeft({ farebox }: World): Promise<void> {
  const empty = async () => ((await farebox.objects()).length === 0 ? true : undefined);
  await eventually(empty).catch(() => undefined);
  expect(await farebox.objects()).toEqual([]);
  const closed = async () => ((await farebox.openWorkflows()).length === 0 ? true : undefined);
  await eventually(closed);
  expect(farebox.temporaryFiles()).toEqual([]);
}
