/** Fetches and measures the source of a quote, as workers do for an order, and keeps nothing. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { VoiceChangerModel } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import { longestBillableSeconds } from '../../domain/pricing.ts';
import { type MeasuredAudio, measureAudio } from '../../engines/media/measureAudio.ts';
import type { RequestShare } from '../../infra/accountShares.ts';
import type { Dependencies } from '../dependencies.ts';
import type { UploadedFile } from '../http/route.ts';

const FETCH_LIMIT_MS = 30_000;

type MeasureDependencies = Pick<Dependencies, 'core' | 'providers'>;

export interface SourceAudio {
  model: VoiceChangerModel;
  /** Either a file or a URL is given. */
  file: UploadedFile | undefined;
  url: string | undefined;
  maxBytes: number;
  share: RequestShare;
}

/** Throws FareboxError with the refusal of the order that would follow, or `unavailable` where too many wait. */
export async function measureSourceAudio(
  dependencies: MeasureDependencies,
  source: SourceAudio,
  signal: AbortSignal,
): Promise<MeasuredAudio> {
  const { folders } = dependencies.providers;
  const folder = await folders.create();
  try {
    const { ffmpegPath, ffprobePath } = dependencies.core.config;
    const tools = { ffmpegPath, ffprobePath, workFolder: folders.root };
    const wanted = {
      // A slow address must not occupy a decoder.
      path: await bring(dependencies, { source, path: join(folder, 'source') }, signal),
      accepted: source.model.acceptedAudioFormats,
      maxSeconds: longestBillableSeconds(source.model),
      signal,
    };
    const outcome = await source.share.inSlot('decoders', () => measureAudio(tools, wanted), signal);
    if (!outcome.ok) throw new FareboxError(outcome);
    return outcome.audio;
  } finally {
    await folders.remove(folder);
  }
}

/** Path of the source. */
async function bring(
  { providers: { downloads } }: MeasureDependencies,
  { source, path }: { source: SourceAudio; path: string },
  signal: AbortSignal,
): Promise<string> {
  const { file, url, maxBytes, share } = source;
  const content = file?.content;
  if (content && 'path' in content) return content.path;
  if (content) await writeFile(path, content.bytes, { mode: 0o600 });
  else
    await downloads.download(url ?? '', {
      ...{ path, maxBytes, timeoutMs: FETCH_LIMIT_MS, signal },
      noteBytes: share.take,
    });
  return path;
}
