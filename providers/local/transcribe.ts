/** Transcription by the recogniser on this machine (POCKETSPHINX_PATH): clear English speech only. */
import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { FareboxError } from '../../domain/errors.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import type { RunEnd } from '../../engines/child/runLimited.ts';
import { ffmpeg } from '../../engines/media/ffmpeg.ts';
import type { MediaTools } from '../../engines/media/mediaTools.ts';
import { HEARD_FILE, HEARD_RATE, type HeardWord } from '../../engines/speech/runPocketsphinx.ts';
import { createSemaphore } from '../../infra/semaphore.ts';
import { tooBusy } from '../../infra/tooBusy.ts';
import type { MediaCallContext, MediaProvider, Transcript, TranscriptionOrder } from '../shared/mediaProvider.ts';
import { demuxerOptions } from './ffmpegOptions.ts';

/** Recognition takes a quarter of the length on a free core, and the client waits. */
export const MAX_RECORDING_SECONDS = 1_200;

const BYTES_PER_SECOND = HEARD_RATE * 2;
/** Each transcription takes a core and 150 MB. */
const TURNS = { atOnce: availableParallelism(), maxWaiting: 32, maxWaitMs: 30_000 };
const busy = tooBusy('recordings are being transcribed', 10);
/** Silence between two words that ends a segment. */
const SEGMENT_PAUSE_SECONDS = 0.5;
const MAX_SEGMENT_SECONDS = 20;

export function localTranscriber(tools: MediaTools): Pick<MediaProvider, 'checkTranscription' | 'transcribe'> {
  const turns = createSemaphore(TURNS);
  return {
    checkTranscription: checkOrder,
    async transcribe(order, context) {
      checkOrder(order);
      const words = await turns.run(() => recognise(tools, order, context), context.signal).catch(busy);
      const text = words.map(({ word }) => word).join(' ');
      // Omits `characters`: the recogniser gives no times for them.
      return { text, ...(order.timestamps && { words, segments: segmentsOf(words) }) };
    },
  };
}

/** Other languages would be transcribed as wrong English words. */
function checkOrder({ language, recording }: TranscriptionOrder): void {
  if (language !== undefined && !/^en(glish)?$/i.test(language.split(/[-_]/)[0] ?? '')) {
    const message = 'This model understands English only: leave "language" out or set it to "en"';
    throw new FareboxError({ code: 'invalid_request', message, fields: { language: [message] } });
  }
  if (recording.seconds > MAX_RECORDING_SECONDS) {
    const minutes = MAX_RECORDING_SECONDS / 60;
    const message = `This model transcribes at most ${minutes} minutes; the recording lasts ${Math.ceil(recording.seconds)} seconds`;
    throw new FareboxError({ code: 'media_too_long', message, fields: { file: [message] } });
  }
}

async function recognise(
  { ffmpegPath, recogniser }: MediaTools,
  { recording }: TranscriptionOrder,
  { workFolder, signal }: MediaCallContext,
): Promise<HeardWord[]> {
  if (recogniser === undefined) {
    throw new UpstreamFailure({ reason: 'credential', detail: 'no speech recogniser at this provider' });
  }
  const { seconds } = recording;
  const conversion = {
    ffmpegPath,
    arguments: [
      ...['-y', '-threads', '1', '-filter_threads', '1', '-protocol_whitelist', 'file,pipe'],
      ...[...demuxerOptions(recording.demuxer), '-i', `file:${recording.path}`, '-map', '0:a:0'],
      ...['-t', String(Math.ceil(seconds) + 1), '-ac', '1', '-ar', String(HEARD_RATE), '-c:a', 'pcm_s16le'],
      ...['-f', 's16le', `file:${join(workFolder, HEARD_FILE)}`],
    ],
    timeoutMs: 30_000 + seconds * 200,
    maxFileBytes: Math.ceil((seconds + 2) * BYTES_PER_SECOND),
  };
  const decoded = await ffmpeg.convert(conversion, { signal, onProgress: () => undefined });
  mustHaveFinished(decoded, { signal, step: 'decoding' });
  const request = { recogniser, workFolder, timeoutMs: 60_000 + seconds * 2_000 };
  const { end, words } = await ffmpeg.recognise(request, signal);
  mustHaveFinished(end, { signal, step: 'recognition' });
  // The recogniser rounds up to a frame; without the limit the last word could end after the recording.
  const { size } = await stat(join(workFolder, HEARD_FILE));
  return words.map((word) => ({ ...word, end: Math.min(word.end, size / BYTES_PER_SECOND) }));
}

function mustHaveFinished(end: RunEnd, { signal, step }: { signal: AbortSignal; step: string }): void {
  if (end === 'aborted') throw signal.reason;
  if (end === 'finished') return;
  const reason = end === 'timed_out' ? 'timeout' : 'failed';
  throw new UpstreamFailure({ reason, detail: `${step} of the recording ended: ${end}` });
}

/** Groups words between pauses into segments. */
function segmentsOf(words: readonly HeardWord[]): NonNullable<Transcript['segments']> {
  const segments: { text: string; start: number; end: number }[] = [];
  for (const { word, start, end } of words) {
    const current = segments.at(-1);
    const belongs =
      current !== undefined &&
      start - current.end < SEGMENT_PAUSE_SECONDS &&
      end - current.start <= MAX_SEGMENT_SECONDS;
    if (belongs) Object.assign(current, { text: `${current.text} ${word}`, end });
    else segments.push({ text: word, start, end });
  }
  return segments;
}
