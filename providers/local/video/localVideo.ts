/** Videos made here by ffmpeg: titled scenes from words, camera moves over pictures. It may be repeated at will. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Conversion } from '../../../infra/media/ffmpeg.ts';
import type { MediaTools } from '../../../infra/media/mediaTools.ts';
import type { CallContext, Outcome, VideoRequest } from '../../provider.ts';
import { BEFORE_INPUTS, COLOURS, mostBitsPerSecond, mp4 } from './encoding.ts';
import { FRAMES_PER_SECOND } from './frames.ts';
import { planVideo, type VideoPlan } from './plan.ts';
import { reading } from './reading.ts';
import { refused, run } from './run.ts';

const START_MS = 60_000;
/** Several times what a slow core needs: it ends what hangs, not what is slow. */
const MS_PER_MEGAPIXEL = 1_000;
const CONTENT_TYPE = 'video/mp4';

export async function makeVideo(
  tools: MediaTools,
  request: VideoRequest,
  context: CallContext,
): Promise<Outcome> {
  const plan = planVideo(request, (name) => join(context.workFolder, name));
  if (typeof plan === 'string') return refused(plan);
  await Promise.all(plan.texts.map(({ path, text }) => writeFile(path, text)));
  const script = join(context.workFolder, 'graph.txt');
  await writeFile(script, plan.graph);
  const output = { path: join(context.workFolder, 'output.mp4'), contentType: CONTENT_TYPE };
  return await run(conversionOf(tools, plan, { script, path: output.path }), { output, context });
}

function conversionOf(
  { ffmpegPath }: MediaTools,
  { size, frames, inputs, hasSound }: VideoPlan,
  { script, path }: { script: string; path: string },
): Conversion {
  const seconds = frames / FRAMES_PER_SECOND;
  return {
    ffmpegPath,
    arguments: [
      ...BEFORE_INPUTS,
      ...inputs.flatMap((medium) => reading(medium)),
      ...['-filter_complex_script', script, '-map', '[out]', ...(hasSound ? ['-map', '[sound]'] : [])],
      ...COLOURS,
      ...mp4(size, path),
    ],
    timeoutMs: START_MS + Math.ceil((frames * size.width * size.height * MS_PER_MEGAPIXEL) / 1_000_000),
    maxFileBytes: Math.ceil((seconds + 2) * mostBitsPerSecond(size) * 0.25),
  };
}
