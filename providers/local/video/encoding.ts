/** How outputs are written: nothing of us and nothing of the sources but pictures and sound, and always the same bytes. */
import type { Size } from './frames.ts';

/** Always as many, whatever the machine has: the encoder's output goes by their number. */
const THREADS = '2';

/** An error in the middle fails the run (`-xerror`): what was made before it must not pass for the whole. */
export const BEFORE_INPUTS = [
  '-y',
  '-xerror',
  '-filter_complex_threads',
  THREADS,
  '-protocol_whitelist',
  'file,pipe',
];

const WITHOUT_METADATA = [
  ...['-map_metadata', '-1', '-map_chapters', '-1', '-fflags', '+bitexact'],
  ...['-flags:v', '+bitexact', '-flags:a', '+bitexact'],
];
/** Of pictures that were painted or fitted here; a video that was handed in keeps its own. */
export const COLOURS = [
  '-colorspace',
  'bt709',
  '-color_primaries',
  'bt709',
  '-color_trc',
  'bt709',
  '-color_range',
  'tv',
];
const SOUND = ['-c:a', 'aac', '-b:a', '160k', '-ar', '48000'];
/** What stands where the container would name the encoder. */
const WITHOUT_ENCODER = ['-metadata:s:v', 'encoder=AVC'];
/** The encoder's settings, which it would write into the stream (an SEI unit, type 6). */
const WITHOUT_SETTINGS = ['-bsf:v', 'filter_units=remove_types=6'];

/** Above it the encoder keeps fewer pictures at a time, to stay within the memory of a run. */
const MOST_EASY_PIXELS = 2560 * 1440;
const SPARING = ['-threads', '1', '-rc-lookahead', '2', '-bf', '0', '-refs', '1'];

/** For H.264 in MP4 that can be played while it is fetched. */
export function mp4(size: Size, path: string): string[] {
  const rate = String(Math.ceil(mostBitsPerSecond(size)));
  const easy = size.width * size.height <= MOST_EASY_PIXELS;
  return [
    ...['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '19', '-pix_fmt', 'yuv420p'],
    ...[
      '-maxrate',
      rate,
      '-bufsize',
      rate,
      ...(easy ? ['-threads', THREADS, '-rc-lookahead', '12'] : SPARING),
      ...WITHOUT_SETTINGS,
    ],
    ...[...SOUND, ...WITHOUT_METADATA, ...WITHOUT_ENCODER, '-movflags', '+faststart', '-f', 'mp4'],
    ...[`file:${path}`, '-progress', 'pipe:1'],
  ];
}

/** For ProRes 422 in MOV. */
export function prores(path: string): string[] {
  return [
    ...['-c:v', 'prores_ks', '-profile:v', 'standard', '-vendor', 'apl0', '-pix_fmt', 'yuv422p10le'],
    ...['-threads', THREADS, '-c:a', 'pcm_s16le', '-ar', '48000', ...WITHOUT_METADATA],
    ...['-f', 'mov', `file:${path}`, '-progress', 'pipe:1'],
  ];
}

/** Far above what a picture needs at this quality: it only bounds the file. */
export function mostBitsPerSecond({ width, height }: Size): number {
  return 2_000_000 + width * height * 12;
}
