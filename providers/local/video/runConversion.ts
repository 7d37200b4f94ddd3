import { type FfmpegConversion, ffmpeg } from '../../../engines/media/ffmpeg.ts';
import type { Progress } from '../../../engines/media/progress.ts';
import type { CallContext, Outcome } from '../../shared/provider.ts';

/**
 * Undefined: the output is complete. A filter without memory ends its stream early and reports no error, so the written
 * frames are counted. Throws the signal's reason on abort.
 */
export async function runConversion(
  conversion: FfmpegConversion,
  { context, isWhole }: { context: CallContext; isWhole: (written: Progress) => boolean },
): Promise<Outcome | undefined> {
  const { signal, heartbeat } = context;
  let written: Progress = { frames: 0, droppedFrames: 0 };
  const onProgress = (progress: Progress) => {
    written = progress;
    heartbeat();
  };
  const end = await ffmpeg.convert(conversion, { signal, onProgress });
  if (end === 'aborted') throw signal.reason;
  if (end === 'finished' && isWhole(written)) return undefined;
  const message = end === 'timed_out' ? 'Making the video took too long.' : 'The video could not be made.';
  const detail = `ffmpeg ${end} after ${written.frames} pictures`;
  return { status: 'refused', reason: 'failed', message, detail };
}

export function refusedOutcome(message: string): Outcome {
  return { status: 'refused', reason: 'refused', message };
}
