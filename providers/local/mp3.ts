/** How the local engine writes MP3. */

/** Nothing of the source but its sound: no tags, no pictures, no writer's name, and the same bytes for the same order. */
export const WITHOUT_METADATA = [
  ...['-map_metadata', '-1', '-map_chapters', '-1', '-fflags', '+bitexact', '-flags:a', '+bitexact'],
];
const WITHOUT_TAGS = [...WITHOUT_METADATA, '-id3v2_version', '0', '-write_id3v1', '0'];

export const MP3_CONTENT_TYPE = 'audio/mpeg';

/** ffmpeg's options before the output's path. */
export function asMp3(kilobitsPerSecond: number): string[] {
  return ['-c:a', 'libmp3lame', '-b:a', `${kilobitsPerSecond}k`, ...WITHOUT_TAGS, '-f', 'mp3'];
}
