/** Output options. Outputs contain only pictures and sound, no metadata, and equal orders give equal bytes. */
import type { PixelSize } from '../../../domain/images/images.ts';
import { FRAMES_PER_SECOND } from './frames.ts';

/** Fixed on all machines, because the encoder's output depends on it. */
const THREADS = '2';

/** `-xerror`: an error midway fails the run, so that a partial output does not pass as complete. */
export const BEFORE_INPUTS = [
  ...['-y', '-xerror', '-filter_complex_threads', THREADS, '-protocol_whitelist', 'file,pipe'],
];

const PROGRESS = ['-progress', 'pipe:1'];
const WITHOUT_METADATA = [
  ...['-map_metadata', '-1', '-map_chapters', '-1', '-fflags', '+bitexact'],
  ...['-flags:v', '+bitexact', '-flags:a', '+bitexact'],
];
/** Colour tags of pictures that were drawn or fitted here; a given video keeps its own. */
const COLOURS = [...['-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709', '-color_range', 'tv']];
const SOUND = ['-c:a', 'aac', '-b:a', '160k', '-ar', '48000'];
/** Replaces the encoder's name in the container. */
const WITHOUT_ENCODER = ['-metadata:s:v', 'encoder=AVC'];
/** Removes the encoder's settings from the stream (an SEI unit, type 6). */
const WITHOUT_SETTINGS = ['-bsf:v', 'filter_units=remove_types=6'];

/** Above it the encoder buffers fewer frames, to stay within the memory limit of a run. */
const MAX_EASY_PIXELS = 2560 * 1440;
const EASY = ['-threads', THREADS, '-rc-lookahead', '12'];
const SPARING = ['-threads', '1', '-rc-lookahead', '2', '-bf', '0', '-refs', '1'];

/** Options for H.264 in MP4 that plays while it downloads. */
export function mp4(size: PixelSize, path: string): string[] {
  return [...h264(size), ...SOUND, ...playable(path)];
}

/** Options for a part of such a video, without sound. No frame refers to a later one, so parts can be concatenated. */
export function mp4Part(size: PixelSize, path: string): string[] {
  const form = ['-f', 'mp4', `file:${path}`];
  return [...COLOURS, ...h264(size), '-bf', '0', ...WITHOUT_METADATA, ...form, ...PROGRESS];
}

/** Options for joining parts without re-encoding, with sound. One clock tick per frame removes rounding errors. */
export function mp4OfParts(path: string): string[] {
  const clock = ['-video_track_timescale', String(FRAMES_PER_SECOND)];
  return ['-c:v', 'copy', ...clock, ...SOUND, ...playable(path)];
}

function playable(path: string): string[] {
  const form = ['-movflags', '+faststart', '-f', 'mp4'];
  return [...WITHOUT_METADATA, ...WITHOUT_ENCODER, ...form, `file:${path}`, ...PROGRESS];
}

function h264(size: PixelSize): string[] {
  const rate = String(Math.ceil(maxBitsPerSecond(size)));
  return [
    ...['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '19', '-pix_fmt', 'yuv420p'],
    ...['-maxrate', rate, '-bufsize', rate],
    ...(size.width * size.height <= MAX_EASY_PIXELS ? EASY : SPARING),
    ...WITHOUT_SETTINGS,
  ];
}

/** Options for ProRes 422 in MOV. */
export function prores(path: string): string[] {
  return [
    ...['-c:v', 'prores_ks', '-profile:v', 'standard', '-vendor', 'apl0', '-pix_fmt', 'yuv422p10le'],
    ...['-threads', THREADS, '-c:a', 'pcm_s16le', '-ar', '48000', ...WITHOUT_METADATA],
    ...['-f', 'mov', `file:${path}`, ...PROGRESS],
  ];
}

/** Limits the file size only: far above what this quality needs. */
export function maxBitsPerSecond({ width, height }: PixelSize): number {
  return 2_000_000 + width * height * 12;
}
