/** Extracts the sound of a video without encoding it again. Nothing else of the file is copied. */
import { ffmpeg } from './ffmpeg.ts';
import { FORMAT_READINGS } from './formats.ts';
import type { MeasuredAudio } from './measureAudio.ts';
import type { MediaTools } from './mediaTools.ts';

const TIMEOUT_MS = 60_000;

export interface SoundToTake {
  path: string;
  /** Measurement of `path`. */
  audio: Pick<MeasuredAudio, 'format'>;
  /** Path of the new file. */
  to: string;
  maxBytes: number;
  signal: AbortSignal;
}

/** False when its container could not be written. */
export async function takeSound(tools: MediaTools, sound: SoundToTake): Promise<boolean> {
  const { path, audio, to, maxBytes, signal } = sound;
  const { demuxer, demuxerOptions } = FORMAT_READINGS[audio.format];
  const end = await ffmpeg.convert(
    {
      ffmpegPath: tools.ffmpegPath,
      arguments: [
        ...['-protocol_whitelist', 'file,pipe', '-max_streams', '16'],
        ...['-f', demuxer, ...demuxerOptions, '-i', `file:${path}`],
        ...['-map', '0:a:0', '-c:a', 'copy', '-map_metadata', '-1', '-map_chapters', '-1', '-bitexact'],
        ...['-f', audio.format === 'webm' ? 'webm' : 'mp4', `file:${to}`],
      ],
      timeoutMs: TIMEOUT_MS,
      maxFileBytes: maxBytes,
    },
    { signal, onProgress: () => undefined },
  );
  signal.throwIfAborted();
  return end === 'finished';
}
