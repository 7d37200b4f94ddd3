/**
 * The simulator's video: a moving test pattern with the word SIMULATED across it, of the ordered length and size. Eight
 * pictures a second and the quickest encoding, because a test run makes thousands.
 */
import { rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ffmpeg } from '../../engines/media/ffmpeg.ts';
import type { FfmpegEnd } from '../../engines/media/runFfmpeg.ts';
import type { CallContext } from '../shared/provider.ts';
import { bannerPgm } from './banner.ts';

const PATTERN_FRAMES_PER_SECOND = 8;
const COMMENT = 'comment=Farebox simulator: a test pattern, not a generated video';
/** 20 dB below the source's own quiet tone of 18 dB below full scale. */
const QUIET = 'volume=-20dB';
/** Far more than such a pattern takes. */
const BYTES_PER_PIXEL = 3;

export interface Pattern {
  seconds: number;
  /** Pixels, both even. */
  width: number;
  height: number;
  /** With a quiet tone. */
  audio: boolean;
  /** 32 hexadecimal digits that stand for all that was ordered. */
  theme: string;
  /** Ends in the middle. */
  cut?: boolean;
}

export interface PatternMeans {
  ffmpegPath: string;
  context: CallContext;
}

/** Writes an H.264 MP4; the same pattern gives the same bytes. Throws when ffmpeg fails, and the signal's reason. */
export async function writePattern(
  path: string,
  pattern: Pattern,
  { ffmpegPath, context }: PatternMeans,
): Promise<void> {
  const banner = join(context.workFolder, 'simulated.pgm');
  await writeFile(banner, bannerPgm(pattern.width));
  const frames = Math.max(1, Math.round(pattern.seconds * PATTERN_FRAMES_PER_SECOND));
  const pixels = frames * pattern.width * pattern.height;
  const end: FfmpegEnd = await ffmpeg.convert(
    {
      ffmpegPath,
      arguments: [
        ...['-y', '-threads', '1', '-filter_threads', '1', '-filter_complex_threads', '1'],
        ...inputs(pattern, banner),
        ...outputs(pattern, path),
      ],
      timeoutMs: 60_000 + pixels / 2_000,
      maxFileBytes: 1_000_000 + pixels * BYTES_PER_PIXEL,
    },
    { signal: context.signal, onProgress: context.heartbeat },
  );
  if (end === 'aborted') throw context.signal.reason;
  if (end !== 'finished') throw new Error(`the test pattern could not be made: ${end}`);
  await rm(banner);
  if (pattern.cut) await truncate(path, Math.floor((await stat(path)).size / 2));
}

function inputs({ width, height, seconds, audio, theme }: Pattern, banner: string): string[] {
  const size = `size=${width}x${height}:rate=${PATTERN_FRAMES_PER_SECOND}`;
  const hertz = 200 + (number(theme, 4) % 400);
  return [
    ...['-f', 'lavfi', '-i', `testsrc=${size}:duration=${seconds}`],
    ...[
      '-protocol_whitelist',
      'file,pipe',
      '-codec_whitelist',
      'pgm',
      '-f',
      'pgm_pipe',
      '-i',
      `file:${banner}`,
    ],
    ...(audio ? ['-f', 'lavfi', '-i', `sine=frequency=${hertz}:sample_rate=44100:duration=${seconds}`] : []),
  ];
}

function outputs({ seconds, audio, theme }: Pattern, path: string): string[] {
  // Turning the colours is what tells one order's pattern from another's.
  const picture = `[0:v]format=yuv420p,hue=h=${number(theme, 0) % 360}[turned];[turned][1:v]overlay=(W-w)/2:(H-h)/2[picture]`;
  return [
    ...[
      '-filter_complex',
      picture,
      '-map',
      '[picture]',
      '-c:v',
      'libx264',
      '-preset',
      'ultrafast',
      '-crf',
      '34',
    ],
    // One thread and no look ahead: the memory of a run is limited, and a large picture takes much of it.
    ...['-threads', '1', '-tune', 'zerolatency', '-pix_fmt', 'yuv420p', '-flags:v', '+bitexact'],
    ...(audio ? ['-map', '2:a', '-af', QUIET, '-c:a', 'aac', '-b:a', '48k', '-flags:a', '+bitexact'] : []),
    ...['-t', String(seconds), '-map_metadata', '-1', '-metadata', COMMENT, '-fflags', '+bitexact'],
    ...['-f', 'mp4', `file:${path}`, '-progress', 'pipe:1'],
  ];
}

/** Four hexadecimal digits of the theme. */
function number(theme: string, from: number): number {
  return Number.parseInt(theme.slice(from, from + 4), 16) || 0;
}
