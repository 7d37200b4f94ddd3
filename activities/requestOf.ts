/** Converts an order to the request of a provider, with its media as files. */
import { join } from 'node:path';
import { FareboxError } from '../domain/errors.ts';
import type { MeasuredMedium } from '../domain/generation/media.ts';
import { mediaKey, sourceKey } from '../infra/s3/objectKeys.ts';
import type { GenerationRequest, MediaFile, VoiceChangeRequest } from '../providers/shared/provider.ts';
import type { VoiceChange } from '../workflows/contract.ts';
import type { ActivityDependencies } from './dependencies.ts';
import type { MeasuredOrder } from './jobTerms.ts';
import type { MeasuredSource } from './types.ts';
import { unseal } from './unseal.ts';
import type { WorkFolder } from './withWorkFolder.ts';

export async function requestOf(
  dependencies: ActivityDependencies,
  order: MeasuredOrder,
  place: WorkFolder,
): Promise<GenerationRequest> {
  const { job, source } = order;
  const named = {
    reference: job.queueId,
    upstreamModel: dependencies.models.get(job.modelId)?.upstreamModel ?? job.modelId,
  };
  if (!('media' in source)) return { ...named, ...(await voiceChange(dependencies, order, place)) };
  const sealed = await unseal(dependencies, job.queueId);
  if (sealed.order.kind === 'audio') return { ...named, ...sealed.order };
  const media = await filesOf(dependencies, { queueId: job.queueId, media: source.media }, place);
  return { ...named, ...sealed.order, media };
}

type UnnamedRequest = Omit<VoiceChangeRequest, 'reference' | 'upstreamModel'>;

async function voiceChange(
  dependencies: ActivityDependencies,
  order: MeasuredOrder,
  place: WorkFolder,
): Promise<UnnamedRequest> {
  const { job, source } = order as { job: VoiceChange; source: MeasuredSource };
  const sourcePath = join(place.folder, 'source');
  await take(dependencies, sourceKey(job.queueId), { path: sourcePath, sha256: source.sha256, place });
  return {
    kind: 'voice-changer',
    sourcePath,
    sourceContentType: source.contentType,
    sourceDemuxer: source.demuxer,
    sourceSeconds: source.decodedSeconds,
    voice: job.voice,
    removeBackgroundNoise: job.removeBackgroundNoise,
    ...(job.seed === undefined ? {} : { seed: job.seed }),
  };
}

async function filesOf(
  dependencies: ActivityDependencies,
  { queueId, media }: { queueId: string; media: readonly MeasuredMedium[] },
  place: WorkFolder,
): Promise<MediaFile[]> {
  const files: MediaFile[] = [];
  for (const [index, medium] of media.entries()) {
    const path = join(place.folder, `medium-${index}`);
    await take(dependencies, mediaKey(queueId, index), { path, sha256: medium.sha256, place });
    files.push({ ...medium, path });
    place.heartbeat();
  }
  return files;
}

interface SourceFile {
  path: string;
  /** The same bytes that were measured. */
  sha256: string;
  place: WorkFolder;
}

async function take(
  { storage }: ActivityDependencies,
  key: string,
  { path, sha256, place }: SourceFile,
): Promise<void> {
  const taken = await storage.getFile(key, { path, sha256, signal: place.signal });
  if (!taken) throw new FareboxError({ code: 'unavailable', message: 'The source is not in storage.' });
}
