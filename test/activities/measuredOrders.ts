/** Orders of a local model with a measured source, and the dependencies that accept and end them. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { createAccountTurns } from '../../activities/accountTransaction.ts';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import type { MeasuredSource } from '../../activities/types.ts';
import { BUILT_IN_MODELS } from '../../domain/catalogue/catalogue.ts';
import type { GenerationInput } from '../../workflows/contract.ts';

const MODEL = 'local-voice-changer';
const model = BUILT_IN_MODELS.find(({ id }) => id === MODEL);

export function acceptingDependencies(pool: pg.Pool): ActivityDependencies {
  return {
    ...{ pool, accountTurns: createAccountTurns(), providers: new Map() },
    models: new Map(model ? [[MODEL, model]] : []),
    storage: { remove: async () => undefined, list: async () => ({ objects: [] }) },
  } as unknown as ActivityDependencies;
}

const source: MeasuredSource = {
  ...{ sizeBytes: 64_000, sha256: 'ab'.repeat(32), format: 'wav', demuxer: 'wav', contentType: 'audio/wav' },
  ...{ decodedSeconds: 2, lossy: false, measuredAt: new Date().toISOString() },
};

export function orderOf(accountId: string, acceptBy = Date.now() + 60_000) {
  const job: GenerationInput = {
    ...{ queueId: randomUUID(), accountId, keyId: null, requestId: 'request', kind: 'voice-changer' },
    ...{ modelId: MODEL, provider: 'local', providerQueue: 'media', source: { from: 'url' }, voice: 'alto' },
    ...{ removeBackgroundNoise: false, acceptBy },
    timing: {
      ...{ acceptMs: 60_000, deadlineMs: 60_000, retentionMs: 60_000 },
      ...{ pollFirstMs: 100, pollLongestMs: 1_000, heartbeatMs: 5_000 },
    },
  };
  return { job, source };
}
