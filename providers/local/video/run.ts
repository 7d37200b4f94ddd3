/** A conversion as the outcome of an order. */
import { type Conversion, ffmpeg } from '../../../infra/media/ffmpeg.ts';
import type { CallContext, GenerationOutput, Outcome } from '../../provider.ts';

/** Throws the reason of the signal when it was aborted. */
export async function run(
  conversion: Conversion,
  { output, context }: { output: GenerationOutput; context: CallContext },
): Promise<Outcome> {
  const { signal, heartbeat } = context;
  const end = await ffmpeg.convert(conversion, { signal, onProgress: heartbeat });
  if (end === 'aborted') throw signal.reason;
  if (end === 'finished') return { status: 'done', output };
  const message = end === 'timed_out' ? 'Making the video took too long.' : 'The video could not be made.';
  return { status: 'refused', reason: 'failed', message };
}

/** The order itself is at fault. */
export function refused(message: string): Outcome {
  return { status: 'refused', reason: 'invalid_request', message };
}
