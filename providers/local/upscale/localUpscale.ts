/** Videos enlarged, cleaned and slowed here by ffmpeg: known filters, nothing that invents detail. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { UpscaleOrder } from '../../../domain/generation/videoOrder.ts';
import type { Conversion } from '../../../engines/media/ffmpeg.ts';
import type { MediaTools } from '../../../engines/media/mediaTools.ts';
import type { Progress } from '../../../engines/media/progress.ts';
import type { CallContext, MediaFile, Outcome, VideoRequest } from '../../shared/provider.ts';
import { BEFORE_INPUTS, mostBitsPerSecond, mp4, prores } from '../video/encoding.ts';
import { reading } from '../video/reading.ts';
import { refused, run } from '../video/run.ts';
import { planUpscale, type UpscalePlan } from './upscalePlan.ts';

const START_MS = 60_000;
/** Several times what a slow core needs. */
const MS_PER_MEGAPIXEL = 1_000;
const MS_PER_FOLLOWED_MEGAPIXEL = 6_000;
/** The bound of the bit rate is meant for so many frames per second; a faster video may have more. */
const FRAMES_OF_RATE = 24;

export type UpscaleRequest = VideoRequest & { upscale: UpscaleOrder };

export async function upscaleVideo(
  tools: MediaTools,
  request: UpscaleRequest,
  context: CallContext,
): Promise<Outcome> {
  const source = request.media.find(({ role }) => role === 'video');
  if (source === undefined) return refused('video_url is required.');
  const plan = planUpscale(request.upscale, source);
  if (typeof plan === 'string') return refused(plan);
  const script = join(context.workFolder, 'graph.txt');
  await writeFile(script, plan.graph);
  const output =
    plan.format === 'prores'
      ? { path: join(context.workFolder, 'output.mov'), contentType: 'video/quicktime' }
      : { path: join(context.workFolder, 'output.mp4'), contentType: 'video/mp4' };
  const conversion = conversionOf(tools, plan, { source, script, path: output.path });
  const failure = await run(conversion, { context, isWhole: (written) => isWhole(plan, source, written) });
  return failure ?? { status: 'done', output };
}

/** An edit list of the source may hide some of its pictures; what broke off lacks more. */
const HIDDEN_SHARE = 0.02;
const HIDDEN_FRAMES = 2;

function isWhole(plan: UpscalePlan, source: MediaFile, { frames, droppedFrames }: Progress): boolean {
  if (plan.isPaced) return frames === plan.frames;
  // Without a pace of its own it has the source's pictures, but those that came in the same moment.
  const expected = source.frames ?? 0;
  return frames + droppedFrames >= expected - HIDDEN_FRAMES - expected * HIDDEN_SHARE && frames > 0;
}

function conversionOf(
  { ffmpegPath }: MediaTools,
  plan: UpscalePlan,
  { source, script, path }: { source: MediaFile; script: string; path: string },
): Conversion {
  const { size, seconds, frames, megapixels } = plan;
  const bytes =
    plan.format === 'prores'
      ? megapixels * 1_000_000 + seconds * 192_000
      : (Math.max(seconds, frames / FRAMES_OF_RATE) + 2) * mostBitsPerSecond(size) * 0.25;
  return {
    ffmpegPath,
    arguments: [
      ...[...BEFORE_INPUTS, ...reading(source), '-filter_complex_script', script],
      ...['-map', '[out]', ...(plan.hasSound ? ['-map', '[sound]'] : [])],
      ...(plan.format === 'prores' ? prores(path) : mp4(size, path)),
    ],
    timeoutMs:
      START_MS +
      Math.ceil(megapixels * MS_PER_MEGAPIXEL + plan.followedMegapixels * MS_PER_FOLLOWED_MEGAPIXEL),
    maxFileBytes: Math.ceil(bytes) + 4_000_000,
  };
}
