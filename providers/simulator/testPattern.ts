/**
 * The simulator's video: a moving test pattern with the word SIMULATED across it, of the ordered length and size. Eight
 * pictures a second and the quickest encoding, because a test run makes thousands.
 */
import { stat, truncate } from 'node:fs/promises';
import { ffmpeg } from '../../engines/media/ffmpeg.ts';
import type { FfmpegEnd } from '../../engines/media/runFfmpeg.ts';
import { FONT_PATH, shippedFont } from '../local/video/fontWidths.ts';
import { optionValue } from '../local/video/titles.ts';
import type { CallContext } from '../shared/provider.ts';

const WORD = 'SIMULATED';
/** Share of the width of a picture. */
const WORD_SHARE = 0.75;
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

/** The filter that writes the word into the middle of a picture, white on black. */
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
  // Turning the colours is what tells one order's pattern from another's.
  const picture = `format=yuv420p,hue=h=${number(theme, 0) % 360},${banner(width)}`;
  return [
    ...['-map', '0:v', '-vf', picture, '-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '34'],
    // One thread and no look ahead: the memory of a run is limited, and a large picture takes much of it.
    ...['-threads', '1', '-tune', 'zerolatency', '-pix_fmt', 'yuv420p', '-flags:v', '+bitexact'],
    ...(audio ? ['-map', '1:a', '-af', QUIET, '-c:a', 'aac', '-b:a', '48k', '-flags:a', '+bitexact'] : []),
    ...['-t', String(seconds), '-map_metadata', '-1', '-metadata', COMMENT, '-fflags', '+bitexact'],
    ...['-f', 'mp4', `file:${path}`, '-progress', 'pipe:1'],
  ];
}

/** Four hexadecimal digits of the theme. */
function number(theme: string, from: number): number {
  return Number.parseInt(theme.slice(from, from + 4), 16) || 0;
}
