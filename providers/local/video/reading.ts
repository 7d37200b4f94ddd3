/** How a medium of an order is read: by the demuxer that measured it, and only by decoders that belong to its kind. */
import type { MediaKind } from '../../../domain/generation/media.ts';
import { FORMAT_READINGS } from '../../../engines/media/formats.ts';
import type { MediaFile } from '../../shared/provider.ts';

const AUDIO = [...new Set(Object.values(FORMAT_READINGS).flatMap(({ decoders }) => decoders))];
const PICTURE = ['png', 'apng', 'mjpeg', 'webp', 'gif', 'bmp', 'tiff', 'libdav1d', 'av1', 'hevc'];
const VIDEO = [
  ...[
    'h264',
    'hevc',
    'mpeg4',
    'mpeg2video',
    'mpeg1video',
    'vp8',
    'vp9',
    'libvpx',
    'libvpx-vp9',
    'libdav1d',
    'av1',
  ],
  ...[
    'prores',
    'mjpeg',
    'dnxhd',
    'msmpeg4v3',
    'theora',
    'ffv1',
    'png',
    'gif',
    'qtrle',
    'rawvideo',
    'ac3',
    'eac3',
  ],
];

const DECODERS: Record<MediaKind, readonly string[]> = {
  image: PICTURE,
  audio: AUDIO,
  video: [...VIDEO, ...AUDIO],
  document: [],
};

/** Sound is read again from its start for as long as somebody listens. */
const OPTIONS: Record<MediaKind, readonly string[]> = {
  image: [],
  audio: ['-stream_loop', '-1'],
  video: [],
  document: [],
};

export function reading({ kind, demuxer, path }: MediaFile): string[] {
  const format = demuxer === undefined ? [] : ['-f', demuxer];
  // A name with a percent sign would be read as the pattern of many files.
  const single = demuxer === 'image2' ? ['-pattern_type', 'none'] : [];
  const decoding = ['-threads', '1', '-codec_whitelist', DECODERS[kind].join(',')];
  return [...decoding, ...OPTIONS[kind], ...format, ...single, '-i', `file:${path}`];
}
