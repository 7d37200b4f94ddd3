/** Fetches and measures the source of a job: the charge is by what was decoded here. */
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { FareboxError } from '../domain/errors.ts';
import { longestBillableSeconds } from '../domain/pricing.ts';
import { measureAudio } from '../engines/media/measureAudio.ts';
import type { RequestShare } from '../infra/accountShares.ts';
import { failpoint } from '../infra/failpoints.ts';
import { sealedOrderKey, sourceKey } from '../infra/s3/objectKeys.ts';
import type { VoiceChange } from '../workflows/contract.ts';
import type { ActivityDependencies } from './dependencies.ts';
import type { MeasureResult, Refusal } from './types.ts';
import { fetchIntoStorage, waitUntilStored } from './unseal.ts';
import { type WorkFolder, withWorkFolder } from './withWorkFolder.ts';

/** Maximum size of a source (AUDIO-3). */
const MAX_SOURCE_BYTES = 25 * 1024 * 1024;

export async function measureSource(
  dependencies: ActivityDependencies,
  job: VoiceChange,
  share: Pick<RequestShare, 'reserve'>,
): Promise<MeasureResult> {
  await failpoint('activity-start');
  const model = dependencies.models.get(job.modelId);
  if (model?.kind !== 'voice-changer')
    return { ok: false, code: 'model_not_found', message: 'Specified model not found' };
  share.reserve(job.source.from === 'upload' ? job.source.sizeBytes : MAX_SOURCE_BYTES);
  return await withWorkFolder(dependencies, async (place) => {
    const path = join(place.folder, 'source');
    const taken = await takeSource(dependencies, job, { ...place, path });
    if ('ok' in taken) return taken;
    const outcome = await measureAudio(dependencies.tools, {
      path,
      accepted: model.acceptedAudioFormats,
      maxSeconds: longestBillableSeconds(model),
      signal: place.signal,
    });
    await failpoint('measured');
    if (!outcome.ok) return { ok: false, code: outcome.code, message: outcome.message };
    const { format, demuxer, contentType, decodedSeconds, lossy } = outcome.audio;
    const measuredAt = new Date().toISOString();
    return {
      ok: true,
      source: { ...taken, format, demuxer, contentType, decodedSeconds, lossy, measuredAt },
    };
  });
}

interface TakenSource {
  sizeBytes: number;
  sha256: string;
}

/** Reads the bytes from storage, or from the URL into storage, so that all later steps see the same. */
async function takeSource(
  dependencies: ActivityDependencies,
  job: VoiceChange,
  { path, signal }: WorkFolder & { path: string },
): Promise<TakenSource | Refusal> {
  const { source, queueId } = job;
  if (source.from === 'upload') {
    const { sizeBytes, sha256 } = source;
    await waitUntilStored(() => dependencies.storage.getFile(sourceKey(queueId), { path, sha256, signal }));
    return { sizeBytes, sha256 };
  }
  const url = await unsealUrl(dependencies, queueId);
  try {
    const target = { key: sourceKey(queueId), path, maxBytes: MAX_SOURCE_BYTES, signal };
    return await fetchIntoStorage(dependencies, url, target);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal) return refusal;
    throw error;
  }
}

async function unsealUrl(dependencies: ActivityDependencies, queueId: string): Promise<string> {
  const body = await waitUntilStored(() => dependencies.storage.get(sealedOrderKey(queueId)));
  const order: unknown = JSON.parse(await text(body));
  if (typeof order === 'object' && order !== null && 'url' in order && typeof order.url === 'string') {
    return order.url;
  }
  throw new FareboxError({ code: 'internal', message: 'The order in storage is damaged.' });
}

function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof FareboxError)) return undefined;
  if (error.code !== 'invalid_source' && error.code !== 'payload_too_large') return undefined;
  return { ok: false, code: error.code, message: error.message };
}
