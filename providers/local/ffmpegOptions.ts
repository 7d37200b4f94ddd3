/**
 * ffmpeg options for reading sources and writing MP3. A source is read with the demuxer that measured it and only the
 * decoders of its kind. Input options come before `-i`.
 */
import type { MediaKind } from '../../domain/generation/media.ts';
import { FORMAT_READINGS } from '../../engines/media/formats.ts';
import type { MediaFile } from '../shared/provider.ts';

/** Options for a recording: the demuxer and decoders that measured it, and no others. */
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

/** Input options and file of a medium in a video order. */
export function mediumInput({ kind, demuxer, path }: MediaFile): string[] {
  const format = demuxer === undefined ? [] : ['-f', demuxer];
  // The demuxer would read a percent sign in the name as a pattern of files.
  const single = demuxer === 'image2' ? ['-pattern_type', 'none'] : [];
  // Audio repeats for as long as it is read.
  const again = kind === 'audio' ? ['-stream_loop', '-1'] : [];
  const decoding = ['-threads', '1', '-codec_whitelist', DECODERS[kind]];
  return [...decoding, ...again, ...format, ...single, '-i', `file:${path}`];
}

/** Drops tags, chapters and the encoder's name, so that equal orders give equal bytes. */
export const WITHOUT_METADATA = [
  ...['-map_metadata', '-1', '-map_chapters', '-1', '-fflags', '+bitexact', '-flags:a', '+bitexact'],
];
const WITHOUT_TAGS = [...WITHOUT_METADATA, '-id3v2_version', '0', '-write_id3v1', '0'];

export const MP3_CONTENT_TYPE = 'audio/mpeg';

/** Output options; the output path follows. */
export function asMp3(kilobitsPerSecond: number): string[] {
  return ['-c:a', 'libmp3lame', '-b:a', `${kilobitsPerSecond}k`, ...WITHOUT_TAGS, '-f', 'mp3'];
}
