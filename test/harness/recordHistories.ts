/**
 * Records one history per path of a generation or top-up on real parts, for the replay test. Run `npm run build && node
 * dist/test/harness/recordHistories.js` before a release that changes a workflow. Existing files stay: they stand for
 * jobs that run when the new version starts.
 */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { cancelGeneration, completeGeneration, submitGeneration } from '../../api/queue/generationClient.ts';
import { toneWav } from '../../bench/wav.ts';
import { openWorld, type World } from '../../bench/world.ts';
import { sealOrder } from '../../domain/generation/sealedOrder.ts';
import { createDatabaseClock } from '../../infra/postgres/databaseClock.ts';
import { sealedOrderKey, sourceKey } from '../../infra/s3/objectKeys.ts';
import { openStorage, type Storage } from '../../infra/s3/storage.ts';
import { openTemporal, type Temporal } from '../../infra/temporal/connect.ts';
import { CALLED_BACK_SIGNAL, type GenerationInput, type GenerationTiming } from '../../workflows/contract.ts';
import {
  ABSENT,
  FINAL,
  GONE,
  REFUSED,
  type Script,
  type ScriptedNetwork,
  SENT,
  WRONG,
} from '../payments/scriptedNetwork.ts';
import { openTopUpStage, type StagedTopUp, type TopUpStage } from '../workflows/topUpStage.ts';
import { simulatedVoice, simulator } from './simulatedVoices.ts';
import { ROOT } from './spawn.ts';
import { until } from './until.ts';

interface Recording {
  name: string;
  /** Default: a voice change. */
  kind?: 'audio';
  webhook?: GenerationInput['webhook'];
  provider: string;
  timing?: Partial<GenerationTiming>;
  /** Client action after the answer. */
  afterwards?: (temporal: Temporal, queueId: string) => Promise<unknown>;
}

const complete = async (temporal: Temporal, queueId: string) => {
  await sleep(4_000);
  await completeGeneration(temporal, queueId, { stored: true });
};

const RECORDINGS: Recording[] = [
  { name: 'happy', provider: 'instant', afterwards: complete },
  { name: 'polled', provider: 'slow', afterwards: complete },
  { name: 'refused', provider: 'refusing' },
  { name: 'unknown', provider: 'silent', timing: { deadlineMs: 3_000 } },
  {
    name: 'cancelled',
    provider: 'hanging',
    afterwards: async (temporal, queueId) => {
      await sleep(1_000);
      await cancelGeneration(temporal, queueId);
    },
  },
  { name: 'expired', provider: 'instant', timing: { retentionMs: 1_000 } },
  {
    name: 'called-back',
    provider: 'slow',
    timing: { pollFirstMs: 10_000, pollLongestMs: 10_000 },
    afterwards: async (temporal, queueId) => {
      for (const pauseMs of [700, 2_300]) {
        await sleep(pauseMs);
        await temporal.client.workflow.getHandle(queueId).signal(CALLED_BACK_SIGNAL);
      }
      await complete(temporal, queueId);
    },
  },
  { name: 'cancel-after', provider: 'hanging', timing: { cancelAfterMs: 1_500 } },
  { name: 'lost-reply', provider: 'silent', timing: { heartbeatMs: 1_000 } },
  { name: 'words', provider: 'singing', kind: 'audio', afterwards: complete },
  {
    name: 'with-webhook',
    provider: 'instant',
    webhook: { events: ['job.stored', 'job.deleted'] },
    afterwards: complete,
  },
];

const PROVIDERS = {
  instant: simulator({}),
  slow: simulator({ latencyMs: 2_500 }),
  refusing: simulator({ outcome: 'content_policy' }),
  silent: simulator({ lookup: false, faults: [{ at: 'submit', kind: 'reply-lost', every: 1 }] }),
  hanging: simulator({ latencyMs: 100, outcome: 'hang' }),
  singing: simulator({}),
};

const singing = {
  id: 'model-singing',
  type: 'music',
  provider: 'singing',
  privacy: 'private',
  spec: { name: 'Singing', max_duration: 60, pricing: { per_second: { usd: 0.01, diem: 0.01 } } },
};
const models = [
  ...Object.keys(PROVIDERS)
    .filter((provider) => provider !== 'singing')
    .map((provider) => simulatedVoice(provider, 0.01)),
  singing,
];

async function record(world: World, recording: Recording): Promise<string> {
  const { environment } = world;
  const value = (name: string) => environment[name] ?? '';
  const temporal = openTemporal({
    address: value('TEMPORAL_ADDRESS'),
    namespace: value('TEMPORAL_NAMESPACE'),
  });
  const storage = openStorage({
    endpoint: value('S3_ENDPOINT'),
    region: value('S3_REGION'),
    bucket: value('S3_BUCKET'),
    accessKeyId: value('S3_ACCESS_KEY_ID'),
    secretAccessKey: value('S3_SECRET_ACCESS_KEY'),
  });
  const { accountId } = await world.createPayer();
  const input = await order(storage, accountId, recording);
  const conductor = { core: { clock: createDatabaseClock() }, jobs: { temporal } };
  const answer = await submitGeneration(conductor, input);
  if (answer === 'ended' || !answer.accepted) throw new Error(`${recording.name}: not accepted`);
  await recording.afterwards?.(temporal, input.queueId);
  const handle = temporal.client.workflow.getHandle(input.queueId);
  await handle.result();
  const history = historyToJSON(await handle.fetchHistory());
  storage.close();
  await temporal.close();
  return history;
}

async function order(
  storage: Storage,
  accountId: string,
  { provider, timing, kind, webhook }: Recording,
): Promise<GenerationInput> {
  const queueId = randomUUID();
  const any = {
    queueId,
    accountId,
    keyId: null,
    requestId: randomUUID().replaceAll('-', ''),
    ...(webhook ? { webhook } : {}),
    modelId: `model-${provider}`,
    provider,
    providerQueue: 'providers',
    acceptBy: Date.now() + 60_000,
    timing: {
      acceptMs: 60_000,
      deadlineMs: 60_000,
      retentionMs: 60_000,
      pollFirstMs: 200,
      pollLongestMs: 1_000,
      heartbeatMs: 5_000,
      ...timing,
    },
  } as const;
  if (kind === 'audio') {
    const words = sealOrder({ order: { kind, prompt: 'a slow waltz', durationSeconds: 2 }, media: [] });
    await storage.putBytes(sealedOrderKey(queueId), Buffer.from(words), { contentType: 'application/json' });
    return { ...any, kind, usage: { characters: 12, durationSeconds: 2 } };
  }
  const bytes = toneWav(2);
  await storage.putBytes(sourceKey(queueId), bytes, { contentType: 'application/octet-stream' });
  return {
    ...any,
    kind: 'voice-changer',
    source: {
      from: 'upload',
      sizeBytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    },
    voice: 'alto',
    removeBackgroundNoise: false,
  };
}

interface TopUpRecording {
  name: string;
  script: (network: ScriptedNetwork) => Script;
  /** Payer action after the start. */
  afterwards?: (topUp: StagedTopUp) => Promise<unknown>;
}

const TOP_UPS: TopUpRecording[] = [
  { name: 'top-up-credited', script: () => ({}) },
  { name: 'top-up-failed', script: () => ({ find: GONE }) },
  { name: 'top-up-wrong', script: () => ({ find: WRONG }) },
  {
    name: 'top-up-presented-again',
    script: (network) => ({
      settle: (call) => (call < 3 ? REFUSED : SENT),
      find: () => (network.calls.settle < 3 ? ABSENT : FINAL),
    }),
    async afterwards({ present, reaches, row }) {
      await reaches('refused');
      // A payer without the refusal presents the same payment again.
      for (const settlements of [0, 1, 1]) await present(settlements);
      await until('handed in twice', async () => (await row()).settlements === 2);
      await reaches('refused');
      await present(2);
    },
  },
];

async function recordTopUp(stage: TopUpStage, recording: TopUpRecording): Promise<string> {
  const topUp = await stage.begin(recording.script(stage.network));
  await recording.afterwards?.(topUp);
  await topUp.handle.result();
  return historyToJSON(await topUp.handle.fetchHistory());
}

async function openStage({ environment, createNamespace }: World): Promise<TopUpStage> {
  const [databaseUrl, address] = [environment.DATABASE_URL ?? '', environment.TEMPORAL_ADDRESS ?? ''];
  return await openTopUpStage({ databaseUrl, address, namespace: await createNamespace() });
}

const target = path.join(ROOT, 'test/histories');
mkdirSync(target, { recursive: true });

/** Records histories without a file. */
async function writeMissing<T extends { name: string }>(
  recordings: readonly T[],
  recordOne: (recording: T) => Promise<string>,
): Promise<void> {
  for (const recording of recordings) {
    const file = path.join(target, `${recording.name}.json`);
    if (existsSync(file)) continue;
    writeFileSync(file, await recordOne(recording));
    process.stdout.write(`${recording.name}\n`);
  }
}

const world = await openWorld({ providers: PROVIDERS, models });
const stage = await openStage(world);
try {
  await world.start('worker');
  await writeMissing(RECORDINGS, (recording) => record(world, recording));
  await writeMissing(TOP_UPS, (recording) => recordTopUp(stage, recording));
} finally {
  await stage.close();
  await world.close();
}
process.exit();
