/** Fetches and measures the media of a video order: the charge and the provider's input are what was decoded here. */
import { join } from 'node:path';
import type { VideoModel } from '../domain/catalogue/model.ts';
import { fieldOf, type MeasuredMedium } from '../domain/generation/media.ts';
import { limitsOfRole } from '../domain/generation/mediaLimits.ts';
import type { SealedMedium } from '../domain/generation/sealedOrder.ts';
import { unfetched } from '../domain/generation/unfetched.ts';
import { wrongMeasured } from '../domain/generation/videoMediaRules.ts';
import { measureMedium } from '../engines/media/measureMedium.ts';
import type { RequestShare } from '../infra/accountShares.ts';
import { failpoint } from '../infra/failpoints.ts';
import { mediaKey } from '../infra/s3/objectKeys.ts';
import type { VideoGeneration } from '../workflows/contract.ts';
import type { ActivityDependencies } from './dependencies.ts';
import type { MeasureResult, Refusal } from './types.ts';
import { fetchIntoStorage, unseal, waitUntilStored } from './unseal.ts';
import { type WorkFolder, withWorkFolder } from './withWorkFolder.ts';

/** Fetched concurrently; the media tools bound the decoding. */
const AT_ONCE = 4;

export async function measureMedia(
  dependencies: ActivityDependencies,
  job: VideoGeneration,
  share: Pick<RequestShare, 'reserve'>,
): Promise<MeasureResult> {
  await failpoint('activity-start');
  const model = dependencies.models.get(job.modelId);
  if (model?.kind !== 'video') return { ok: false, code: 'model_not_found', message: 'Specified model not found' };
  const { media: sealed } = await unseal(dependencies, job.queueId);
  share.reserve(sealed.reduce((sum, medium) => sum + mostBytesOf(medium), 0));
  const taken = await withWorkFolder(dependencies, (place) => takeAll(dependencies, { job, sealed }, place));
  if ('ok' in taken) return taken;
  await failpoint('measured');
  return conclude(model, taken);
}

function mostBytesOf(medium: SealedMedium): number {
  return 'url' in medium ? limitsOfRole(medium.role).maxBytes : medium.sizeBytes;
}

function conclude(model: VideoModel, media: MeasuredMedium[]): MeasureResult {
  const problem = wrongMeasured(model, media);
  if (problem) {
    const message = `${problem.field}: ${problem.message}`;
    return { ok: false, code: 'invalid_media', message, fields: { [problem.field]: [problem.message] } };
  }
  return { ok: true, source: { media, measuredAt: new Date().toISOString() } };
}

interface MediaOrder {
  job: VideoGeneration;
  sealed: readonly SealedMedium[];
}

/** In the order of the request; the first refusal counts. */
async function takeAll(
  dependencies: ActivityDependencies,
  { job, sealed }: MediaOrder,
  place: WorkFolder,
): Promise<MeasuredMedium[] | Refusal> {
  const media: MeasuredMedium[] = [];
  for (let from = 0; from < sealed.length; from += AT_ONCE) {
    const some = sealed.slice(from, from + AT_ONCE);
    const outcomes = await Promise.all(
      some.map((medium, offset) =>
        takeOne(dependencies, { queueId: job.queueId, medium, number: from + offset }, place),
      ),
    );
    for (const outcome of outcomes) {
      if ('ok' in outcome) return outcome;
      media.push(outcome);
    }
    place.heartbeat();
  }
  return media;
}

interface NumberedMedium {
  queueId: string;
  medium: SealedMedium;
  number: number;
}

async function takeOne(
  dependencies: ActivityDependencies,
  { queueId, medium, number }: NumberedMedium,
  { folder, signal }: WorkFolder,
): Promise<MeasuredMedium | Refusal> {
  const path = join(folder, `medium-${number}`);
  const limits = limitsOfRole(medium.role);
  const taken = await bring(dependencies, { queueId, medium, number }, { path, signal });
  if ('ok' in taken) return taken;
  const outcome = await measureMedium(dependencies.tools, medium, { path, limits, signal });
  if (!outcome.ok) return outcome;
  const { role, index, element, ...found } = outcome.medium;
  const at = { role, index, ...(element === undefined ? {} : { element }) };
  return { ...at, ...found, ...taken };
}

interface Target {
  path: string;
  signal: AbortSignal;
}

/** Reads from storage, or from the URL into storage, so that all later steps see the same bytes. */
async function bring(
  dependencies: ActivityDependencies,
  { queueId, medium, number }: NumberedMedium,
  { path, signal }: Target,
): Promise<{ sizeBytes: number; sha256: string } | Refusal> {
  const key = mediaKey(queueId, number);
  if (!('url' in medium)) {
    const { sizeBytes, sha256 } = medium;
    await waitUntilStored(() => dependencies.storage.getFile(key, { path, sha256, signal }));
    return { sizeBytes, sha256 };
  }
  try {
    const { maxBytes } = limitsOfRole(medium.role);
    return await fetchIntoStorage(dependencies, medium.url, { key, path, maxBytes, signal });
  } catch (error) {
    const refusal = unfetched(error, fieldOf(medium));
    if (refusal) return { ok: false, ...refusal };
    throw error;
  }
}
