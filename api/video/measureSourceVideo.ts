/** Fetches and measures the source of a quote, as workers do for an order, and keeps nothing. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FareboxError } from '../../domain/errors.ts';
import { limitsOfRole } from '../../domain/generation/mediaLimits.ts';
import type { MeasuredVideo } from '../../domain/generation/priceVideo.ts';
import { unfetched } from '../../domain/generation/unfetched.ts';
import { measureMedium } from '../../engines/media/measureMedium.ts';
import type { RequestShare } from '../../infra/accountShares.ts';
import type { Dependencies } from '../dependencies.ts';
import { readDataUrl } from '../http/dataUrl.ts';
import { invalid } from '../http/invalid.ts';
import type { RouteRequest } from '../http/route.ts';

const FETCH_LIMIT_MS = 30_000;

type VideoDependencies = Pick<Dependencies, 'core' | 'providers'>;

/** Throws FareboxError with the refusal of the order that would follow. */
export async function measureSourceVideo(
  tools: VideoDependencies,
  url: string,
  { signal, share }: Pick<RouteRequest<unknown, unknown, 'buyer'>, 'signal' | 'share'>,
): Promise<MeasuredVideo> {
  const folder = await tools.providers.folders.create();
  try {
    const path = join(folder, 'source');
    // A slow address must not occupy a decoder.
    await bring(tools, { url, path, noteBytes: share.take }, signal);
    return await share.inSlot('decoders', () => measure(tools, path, signal), signal);
  } finally {
    await tools.providers.folders.remove(folder);
  }
}

async function bring(
  { providers: { downloads } }: VideoDependencies,
  { url, path, noteBytes }: { url: string; path: string; noteBytes: RequestShare['take'] },
  signal: AbortSignal,
): Promise<void> {
  const inline = readDataUrl(url);
  if (inline === 'malformed') throw invalid('video_url', 'A data URL must be base64');
  const { maxBytes } = limitsOfRole('video');
  if (inline) {
    noteBytes(inline.bytes.length);
    await writeFile(path, inline.bytes);
  } else {
    try {
      await downloads.download(url, { path, maxBytes, timeoutMs: FETCH_LIMIT_MS, signal, noteBytes });
    } catch (error) {
      const refusal = unfetched(error, 'video_url');
      throw refusal ? new FareboxError({ ...refusal, cause: error }) : error;
    }
  }
}

async function measure(
  { core: { config }, providers: { folders } }: VideoDependencies,
  path: string,
  signal: AbortSignal,
): Promise<MeasuredVideo> {
  const { ffmpegPath, ffprobePath } = config;
  const tools = { ffmpegPath, ffprobePath, workFolder: folders.root };
  const place = { role: 'video', index: 0 } as const;
  const outcome = await measureMedium(tools, place, { path, limits: limitsOfRole('video'), signal });
  if (!outcome.ok) {
    const { code, message, fields } = outcome;
    throw new FareboxError({ code, message, fields });
  }
  const { seconds = 0, height = 0, framesPerSecond = 0 } = outcome.medium;
  return { seconds, height, framesPerSecond };
}
