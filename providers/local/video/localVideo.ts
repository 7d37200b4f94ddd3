/** Videos made by ffmpeg: titles from text, camera moves over images. Orders may be retried. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MediaTools } from '../../../engines/media/mediaTools.ts';
import type { CallContext, Outcome, VideoRequest } from '../../shared/provider.ts';
import { mediumInput } from '../ffmpegOptions.ts';
import { BEFORE_INPUTS, maxBitsPerSecond, mp4OfParts, mp4Part } from './encoding.ts';
import { FRAMES_PER_SECOND } from './frames.ts';
import { type Part, planVideo, type VideoPlan } from './plan.ts';
import { refusedOutcome, runConversion } from './runConversion.ts';

const START_MS = 60_000;
/** Several times the need of a slow core: stops hung runs, not slow ones. */
const MS_PER_MEGAPIXEL = 1_000;

interface FfmpegRun {
  arguments: readonly string[];
  /** Frames in a complete output. */
  frames: number;
}

export async function makeVideo(
  { ffmpegPath }: MediaTools,
  request: VideoRequest,
  context: CallContext,
): Promise<Outcome> {
  const pathOf = (name: string) => join(context.workFolder, name);
  const plan = planVideo(request, pathOf);
  if (typeof plan === 'string') return refusedOutcome(plan);
  const path = pathOf('output.mp4');
  const list = { path: pathOf('parts.txt'), text: listOf(plan.parts) };
  await Promise.all([...plan.files, list].map((file) => writeFile(file.path, file.text)));
  const deadline = performance.now() + timeoutMs(plan);
  const parts = plan.parts.map((part, index) => partStep(part, plan.size, pathOf(partName(index))));
  for (const step of [...parts, joiningStep(plan, { listPath: list.path, path })]) {
    const left = Math.max(1, Math.ceil(deadline - performance.now()));
    const limits = { timeoutMs: left, maxFileBytes: mostBytes(plan.size, step.frames) };
    const isWhole = (written: { frames: number }) => written.frames === step.frames;
    const conversion = { ffmpegPath, arguments: step.arguments, ...limits };
    const failure = await runConversion(conversion, { context, isWhole });
    if (failure !== undefined) return failure;
  }
  return { status: 'done', output: { path, contentType: 'video/mp4' } };
}

/** Time limit of the whole order, over all runs. */
function timeoutMs({ frames, size }: VideoPlan): number {
  return START_MS + Math.ceil((frames * size.width * size.height * MS_PER_MEGAPIXEL) / 1_000_000);
}

function mostBytes(size: VideoPlan['size'], frames: number): number {
  return Math.ceil((frames / FRAMES_PER_SECOND + 2) * maxBitsPerSecond(size) * 0.25);
}

function partName(index: number): string {
  return `part${index}.mp4`;
}

function listOf(parts: readonly Part[]): string {
  const lines = parts.map(({ frames }, index) => {
    return `file '${partName(index)}'\nduration ${(frames / FRAMES_PER_SECOND).toFixed(6)}\n`;
  });
  return `ffconcat version 1.0\n${lines.join('')}`;
}

function partStep({ picture, chains, frames }: Part, size: VideoPlan['size'], path: string): FfmpegRun {
  const input = picture === undefined ? [] : mediumInput(picture);
  const graph = ['-filter_complex', chains.join(';'), '-map', '[out]'];
  return { arguments: [...BEFORE_INPUTS, ...input, ...graph, ...mp4Part(size, path)], frames };
}

/** Joins the parts without re-encoding. */
function joiningStep({ sound, frames }: VideoPlan, { listPath, path }: { listPath: string; path: string }): FfmpegRun {
  const track = sound?.track === undefined ? [] : mediumInput(sound.track);
  const heard = sound === undefined ? [] : ['-filter_complex', sound.chain, '-map', '[sound]'];
  const inputs = ['-f', 'concat', '-i', `file:${listPath}`, ...track];
  return { arguments: [...BEFORE_INPUTS, ...inputs, '-map', '0:v:0', ...heard, ...mp4OfParts(path)], frames };
}
