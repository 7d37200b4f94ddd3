/** How each accepted video container is read. AVI and MPEG streams are not taken: they hide playlists, and no end of them is sure. */
import type { VideoContainer } from './structure/videoStructure.ts';

export interface VideoReading {
  demuxer: string;
  demuxerOptions: readonly string[];
  contentType: string;
}

const MOVIE = { demuxer: 'mov', demuxerOptions: ['-ignore_editlist', '1', '-ignore_chapters', '1'] };
const MATROSKA = { demuxer: 'matroska', demuxerOptions: [] };

export const VIDEO_READINGS: Record<VideoContainer, VideoReading> = {
  mp4: { ...MOVIE, contentType: 'video/mp4' },
  mov: { ...MOVIE, contentType: 'video/quicktime' },
  webm: { ...MATROSKA, contentType: 'video/webm' },
  mkv: { ...MATROSKA, contentType: 'video/x-matroska' },
};

/** Those that cameras, phones, screens and editors write. */
export const VIDEO_DECODERS = [
  ...['h264', 'hevc', 'libdav1d', 'libaom-av1', 'av1', 'vp8', 'libvpx', 'vp9', 'libvpx-vp9'],
  ...['mpeg4', 'prores', 'mjpeg'],
  ...['aac', 'alac', 'opus', 'libopus', 'vorbis', 'flac', 'mp3float', 'mp3', 'ac3', 'eac3'],
  ...['pcm_s16le', 'pcm_s16be', 'pcm_s24le', 'pcm_s24be', 'pcm_f32le', 'pcm_mulaw', 'pcm_alaw'],
];
