/**
 * Video of the simulator: a moving test pattern of the ordered length and size, labelled SIMULATED. Uses eight frames
 * per second and the fastest encoding, because a test run makes thousands.
 */
import { stat, truncate } from 'node:fs/promises';
import { ffmpeg } from '../../engines/media/ffmpeg.ts';
import type { FfmpegEnd } from '../../engines/media/runFfmpeg.ts';
import { FONT_PATH, shippedFont } from '../local/video/fontWidths.ts';
import { optionValue } from '../local/video/titles.ts';
import type { CallContext } from '../shared/provider.ts';

const WORD = 'SIMULATED';
/** Width of the word as a share of the frame's. */
const WORD_SHARE = 0.75;
const PATTERN_FRAMES_PER_SECOND = 8;
const COMMENT = 'comment=Farebox simulator: a test pattern, not a generated video';
/** Lowers the source's tone, which is 18 dB below full scale, by 20 dB. */
const QUIET = 'volume=-20dB';
/** Far above the size of such a pattern. */
const BYTES_PER_PIXEL = 3;

export interface Pattern {
  seconds: number;
  /** In pixels, both even. */
  width: number;
  height: number;
  /** Adds a quiet tone. */
  audio: boolean;
  /** Digest of the order, 32 hexadecimal digits. */
  theme: string;
  /** Truncates the file to half. */
  cut?: boolean;
}

export interface PatternMeans {
  ffmpegPath: string;
  context: CallContext;
}

/** Writes an H.264 MP4; equal patterns give equal bytes. Throws if ffmpeg fails; on abort the signal's reason. */
export async function writePattern(
  path: string,
  pattern: Pattern,
  { ffmpegPath, context }: PatternMeans,
): Promise<void> {
  const frames = Math.max(1, Math.round(pattern.seconds * PATTERN_FRAMES_PER_SECOND));
  const pixels = frames * pattern.width * pattern.height;
  const end: FfmpegEnd = await ffmpeg.convert(
    {
      ffmpegPath,
      arguments: [
        ...['-y', '-threads', '1', '-filter_threads', '1', '-filter_complex_threads', '1'],
        ...[...inputs(pattern), ...outputs(pattern, path)],
      ],
      timeoutMs: 60_000 + pixels / 2_000,
      maxFileBytes: 1_000_000 + pixels * BYTES_PER_PIXEL,
    },
    { signal: context.signal, onProgress: context.heartbeat },
  );
  if (end === 'aborted') throw context.signal.reason;
  if (end !== 'finished') throw new Error(`the test pattern could not be made: ${end}`);
  if (pattern.cut) await truncate(path, Math.floor((await stat(path)).size / 2));
}

/** Filter that draws the word in the middle of a frame, white on black. */
export function banner(pictureWidth: number): string {
  const fontSize = Math.floor((pictureWidth * WORD_SHARE) / shippedFont().widthOf(WORD));
  const box = `box=1:boxcolor=black:boxborderw=${Math.ceil(fontSize / 4)}`;
  const place = 'x=(w-text_w)/2:y=(h-text_h)/2';
  return `drawtext=fontfile=${optionValue(FONT_PATH)}:text=${WORD}:fontsize=${fontSize}:fontcolor=white:${box}:${place}`;
}

function inputs({ width, height, seconds, audio, theme }: Pattern): string[] {
  const picture = `testsrc=size=${width}x${height}:rate=${PATTERN_FRAMES_PER_SECOND}:duration=${seconds}`;
  const tone = `sine=frequency=${200 + (number(theme, 4) % 400)}:sample_rate=44100:duration=${seconds}`;
  return ['-f', 'lavfi', '-i', picture, ...(audio ? ['-f', 'lavfi', '-i', tone] : [])];
}

function outputs({ seconds, audio, theme, width }: Pattern, path: string): string[] {
  // The hue distinguishes the patterns of different orders.
  const picture = `format=yuv420p,hue=h=${number(theme, 0) % 360},${banner(width)}`;
  return [
    ...['-map', '0:v', '-vf', picture, '-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '34'],
    // One thread and no lookahead: a large frame takes much of the limited memory.
    ...['-threads', '1', '-tune', 'zerolatency', '-pix_fmt', 'yuv420p', '-flags:v', '+bitexact'],
    ...(audio ? ['-map', '1:a', '-af', QUIET, '-c:a', 'aac', '-b:a', '48k', '-flags:a', '+bitexact'] : []),
    ...['-t', String(seconds), '-map_metadata', '-1', '-metadata', COMMENT, '-fflags', '+bitexact'],
    ...['-f', 'mp4', `file:${path}`, '-progress', 'pipe:1'],
  ];
}

/** Value of four hexadecimal digits of the theme. */
function number(theme: string, from: number): number {
  return Number.parseInt(theme.slice(from, from + 4), 16) || 0;
}
