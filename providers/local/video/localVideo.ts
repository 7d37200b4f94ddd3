/** Videos made here by ffmpeg: titled scenes from words, camera moves over pictures. It may be repeated at will. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MediaTools } from '../../../engines/media/mediaTools.ts';
import type { CallContext, Outcome, VideoRequest } from '../../shared/provider.ts';
import { planVideo, type VideoPlan } from './plan.ts';
import { refused, run } from './run.ts';
import { OUTPUT, type Step, stepsOf } from './steps.ts';

const START_MS = 60_000;
/** Several times what a slow core needs: it ends what hangs, not what is slow. */
const MS_PER_MEGAPIXEL = 1_000;
const CONTENT_TYPE = 'video/mp4';

export async function makeVideo(
  tools: MediaTools,
  request: VideoRequest,
  context: CallContext,
): Promise<Outcome> {
  const pathOf = (name: string) => join(context.workFolder, name);
  const plan = planVideo(request, pathOf);
  if (typeof plan === 'string') return refused(plan);
  await Promise.all(plan.texts.map(({ path, text }) => writeFile(path, text)));
  const deadline = performance.now() + timeoutMs(plan);
  for (const step of stepsOf(plan, pathOf)) {
    const failure = await perform(step, { ffmpegPath: tools.ffmpegPath, deadline, context });
    if (failure !== undefined) return failure;
  }
  return { status: 'done', output: { path: pathOf(OUTPUT), contentType: CONTENT_TYPE } };
}

/** Of the whole order, however many runs it takes. */
function timeoutMs({ frames, size }: VideoPlan): number {
  return START_MS + Math.ceil((frames * size.width * size.height * MS_PER_MEGAPIXEL) / 1_000_000);
}

async function perform(
  { files, frames, ...step }: Step,
  { ffmpegPath, deadline, context }: { ffmpegPath: string; deadline: number; context: CallContext },
): Promise<Outcome | undefined> {
  await Promise.all(files.map(({ path, text }) => writeFile(path, text)));
  const left = Math.max(1, Math.ceil(deadline - performance.now()));
  const isWhole = (written: { frames: number }) => written.frames === frames;
  return await run({ ffmpegPath, ...step, timeoutMs: left }, { context, isWhole });
}
