/** Checks and stores an output. The row decides whether it still counts; a late output is removed. */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Context } from '@temporalio/activity';
import { verifyAudio } from '../engines/media/measureAudio.ts';
import { verifyVideo } from '../engines/media/measureVideo.ts';
import { failpoint } from '../infra/failpoints.ts';
import { recordStored } from '../infra/postgres/jobs.ts';
import { outputKey } from '../infra/s3/objectKeys.ts';
import { jobsReached } from '../infra/telemetry/counters.ts';
import type { GenerationOutput } from '../providers/shared/provider.ts';
import { clientInputsOf, type GenerationInput } from '../workflows/contract.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { discardSource, removeOutputs } from './endJob.ts';
import type { GenerateResult } from './types.ts';
import type { WorkFolder } from './withWorkFolder.ts';

/** Far above a recording of ten minutes or a video of some minutes; a provider that sends more is broken. */
const MAX_AUDIO_BYTES = 200 * 1024 * 1024;
const MAX_VIDEO_BYTES = 2 * 1024 * 1024 * 1024;

export async function storeOutput(
  dependencies: ActivityDependencies,
  job: GenerationInput,
  made: { output: GenerationOutput; place: WorkFolder },
): Promise<GenerateResult> {
  const { output, place } = made;
  const sizeBytes = (await stat(output.path)).size;
  const checked = await verifyOutput(job, { path: output.path, sizeBytes }, place.signal);
  if (!checked) {
    return {
      kind: 'failed',
      code: 'provider_failed',
      message: `The provider did not deliver a usable ${job.kind === 'video' ? 'video' : 'recording'}.`,
    };
  }
  const key = outputKey(job.queueId, randomUUID());
  await failpoint('output-half');
  const sha256 = await sha256Of(output.path);
  const { contentType } = checked;
  await dependencies.storage.putFile(key, output.path, { sizeBytes, contentType, sha256 });
  await failpoint('output-put');
  const kept = await recordStored(dependencies.pool, job.queueId, {
    key,
    contentType,
    sizeBytes,
    sha256,
    seconds: checked.seconds ?? null,
    retentionMs: job.timing.retentionMs,
    ...(output.providerReference ? { providerReference: output.providerReference } : {}),
  });
  await failpoint('output-recorded');
  if (!kept) {
    await dependencies.storage.remove(key);
    return { kind: 'ended' };
  }
  jobsReached.labels(job.modelId, 'stored').inc();
  if (Context.current().info.attempt > 1) await removeOutputs(dependencies, job.queueId, key);
  const from = job.kind === 'voice-changer' ? job.source.from : 'url';
  await discardSource(dependencies, clientInputsOf(job), from);
  return { kind: 'stored' };
}

/** By signature and structure, never by the claim of the provider. */
async function verifyOutput(
  { kind }: GenerationInput,
  { path, sizeBytes }: { path: string; sizeBytes: number },
  signal: AbortSignal,
): Promise<{ contentType: string; seconds?: number } | undefined> {
  const most = kind === 'video' ? MAX_VIDEO_BYTES : MAX_AUDIO_BYTES;
  if (sizeBytes === 0 || sizeBytes > most) return undefined;
  return await (kind === 'video' ? verifyVideo(path, signal) : verifyAudio(path, signal));
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
