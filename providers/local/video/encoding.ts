/** How outputs are written: nothing of us and nothing of the sources but pictures and sound, and always the same bytes. */
import type { PixelSize } from '../../shared/imageSizes.ts';
import { FRAMES_PER_SECOND } from './frames.ts';

/** Always as many, whatever the machine has: the encoder's output goes by their number. */
const THREADS = '2';

/** An error in the middle fails the run (`-xerror`): what was made before it must not pass for the whole. */
export const BEFORE_INPUTS = [
  ...['-y', '-xerror', '-filter_complex_threads', THREADS, '-protocol_whitelist', 'file,pipe'],
];

const PROGRESS = ['-progress', 'pipe:1'];
const WITHOUT_METADATA = [
  ...['-map_metadata', '-1', '-map_chapters', '-1', '-fflags', '+bitexact'],
  ...['-flags:v', '+bitexact', '-flags:a', '+bitexact'],
];
/** Of pictures that were painted or fitted here; a video that was handed in keeps its own. */
const COLOURS = [...['-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709', '-color_range', 'tv']];
const SOUND = ['-c:a', 'aac', '-b:a', '160k', '-ar', '48000'];
/** What stands where the container would name the encoder. */
const WITHOUT_ENCODER = ['-metadata:s:v', 'encoder=AVC'];
/** The encoder's settings, which it would write into the stream (an SEI unit, type 6). */
const WITHOUT_SETTINGS = ['-bsf:v', 'filter_units=remove_types=6'];

/** Above it the encoder keeps fewer pictures at a time, to stay within the memory of a run. */
const MAX_EASY_PIXELS = 2560 * 1440;
const EASY = ['-threads', THREADS, '-rc-lookahead', '12'];
const SPARING = ['-threads', '1', '-rc-lookahead', '2', '-bf', '0', '-refs', '1'];

/** For H.264 in MP4 that can be played while it is fetched. */
export function mp4(size: PixelSize, path: string): string[] {
  return [...h264(size), ...SOUND, ...playable(path)];
}

/**
 * For a part of such a video, without sound. No picture refers to a later one: the parts need nothing but to be put one
 * after the other.
 */
export function mp4Part(size: PixelSize, path: string): string[] {
  const form = ['-f', 'mp4', `file:${path}`];
  return [...COLOURS, ...h264(size), '-bf', '0', ...WITHOUT_METADATA, ...form, ...PROGRESS];
}

/** For parts that are put together as they are, and their sound. The clock ticks once a frame, which heals what was rounded. */
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

/** For ProRes 422 in MOV. */
export function prores(path: string): string[] {
  return [
    ...['-c:v', 'prores_ks', '-profile:v', 'standard', '-vendor', 'apl0', '-pix_fmt', 'yuv422p10le'],
    ...['-threads', THREADS, '-c:a', 'pcm_s16le', '-ar', '48000', ...WITHOUT_METADATA],
    ...['-f', 'mov', `file:${path}`, ...PROGRESS],
  ];
}

/** Far above what a picture needs at this quality: it only bounds the file. */
export function maxBitsPerSecond({ width, height }: PixelSize): number {
  return 2_000_000 + width * height * 12;
}
