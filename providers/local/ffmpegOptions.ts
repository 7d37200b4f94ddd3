/**
 * Options of ffmpeg: how it reads a source (by the demuxer that measured it, and only by decoders that belong to its kind;
 * before `-i`), and how it writes MP3.
 */
import type { MediaKind } from '../../domain/generation/media.ts';
import { FORMAT_READINGS } from '../../engines/media/formats.ts';
import type { MediaFile } from '../shared/provider.ts';

/** Options for a recording: the very reading by which it was measured, and nothing else. */
export function demuxerOptions(demuxer: string): string[] {
  const known = Object.values(FORMAT_READINGS).find((format) => format.demuxer === demuxer);
  if (known === undefined) throw new Error(`no such demuxer: ${demuxer}`);
  return ['-codec_whitelist', known.decoders.join(','), '-f', known.demuxer, ...known.demuxerOptions];
}

const AUDIO = [...new Set(Object.values(FORMAT_READINGS).flatMap(({ decoders }) => decoders))].join(',');
const VIDEO =
  'h264,hevc,mpeg4,mpeg2video,mpeg1video,vp8,vp9,libvpx,libvpx-vp9,libdav1d,av1,prores,mjpeg,dnxhd,msmpeg4v3,theora,' +
  'ffv1,png,gif,qtrle,rawvideo,ac3,eac3';

const DECODERS: Record<MediaKind, string> = {
  image: 'png,apng,mjpeg,webp,gif,bmp,tiff,libdav1d,av1,hevc',
  audio: AUDIO,
  video: `${VIDEO},${AUDIO}`,
  document: '',
};

/** Options for a medium of a video order, its file with them. */
export function mediumInput({ kind, demuxer, path }: MediaFile): string[] {
  const format = demuxer === undefined ? [] : ['-f', demuxer];
  // A name with a percent sign would be read as the pattern of many files.
  const single = demuxer === 'image2' ? ['-pattern_type', 'none'] : [];
  // Sound is read again from its start for as long as somebody listens.
  const again = kind === 'audio' ? ['-stream_loop', '-1'] : [];
  const decoding = ['-threads', '1', '-codec_whitelist', DECODERS[kind]];
  return [...decoding, ...again, ...format, ...single, '-i', `file:${path}`];
}

/**
 * Keeps only the sound of the source: no tags, no pictures, no writer's name, and the same bytes for the same order.
 */
export const WITHOUT_METADATA = [
  ...['-map_metadata', '-1', '-map_chapters', '-1', '-fflags', '+bitexact', '-flags:a', '+bitexact'],
];
const WITHOUT_TAGS = [...WITHOUT_METADATA, '-id3v2_version', '0', '-write_id3v1', '0'];

export const MP3_CONTENT_TYPE = 'audio/mpeg';

/** ffmpeg's options before the output's path. */
export function asMp3(kilobitsPerSecond: number): string[] {
  return ['-c:a', 'libmp3lame', '-b:a', `${kilobitsPerSecond}k`, ...WITHOUT_TAGS, '-f', 'mp3'];
}
