/** Real videos in every accepted container with the usual codecs, and changes to their boxes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ffmpeg } from './recordings.ts';

const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];
const AAC = ['-c:a', 'aac', '-b:a', '64k'];
const SOON = ['-deadline', 'realtime', '-cpu-used', '8'];

export interface VideoEncoding {
  extension: string;
  contentType: string;
  options: readonly string[];
}

export const VIDEOS: Record<string, VideoEncoding> = {
  mp4: { extension: 'mp4', contentType: 'video/mp4', options: [...H264, ...AAC] },
  'mp4 fast start': {
    extension: 'mp4',
    contentType: 'video/mp4',
    options: [...H264, ...AAC, '-movflags', '+faststart'],
  },
  'mp4 fragments': {
    extension: 'mp4',
    contentType: 'video/mp4',
    options: [...H264, ...AAC, '-g', '15', '-movflags', '+frag_keyframe+empty_moov'],
  },
  'mov hevc': {
    extension: 'mov',
    contentType: 'video/quicktime',
    options: ['-c:v', 'libx265', '-preset', 'ultrafast', '-x265-params', 'log-level=none', ...AAC],
  },
  'mov prores': {
    extension: 'mov',
    contentType: 'video/quicktime',
    options: ['-c:v', 'prores', '-c:a', 'pcm_s16le'],
  },
  'webm vp8': {
    extension: 'webm',
    contentType: 'video/webm',
    options: ['-c:v', 'libvpx', ...SOON, '-c:a', 'libvorbis'],
  },
  'webm vp9': {
    extension: 'webm',
    contentType: 'video/webm',
    options: ['-c:v', 'libvpx-vp9', ...SOON, '-c:a', 'libopus'],
  },
  'webm live': {
    extension: 'webm',
    contentType: 'video/webm',
    options: ['-c:v', 'libvpx', ...SOON, '-c:a', 'libopus', '-live', '1'],
  },
  mkv: { extension: 'mkv', contentType: 'video/x-matroska', options: [...H264, ...AAC] },
};

export interface WantedVideo {
  folder: string;
  name: string;
  seconds?: number;
  /** Example: `320x240`. */
  size?: string;
  rate?: number;
  /** Options after those of the encoding. */
  extra?: readonly string[];
}

/** A moving test image with a tone. */
export function video(encoding: keyof typeof VIDEOS, wanted: WantedVideo): string {
  const { folder, name, seconds = 3, size = '320x240', rate = 30, extra = [] } = wanted;
  const { extension, options } = VIDEOS[encoding] ?? { extension: '', options: [] };
  const path = join(folder, `${name}.${extension}`);
  ffmpeg([
    ...['-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=${rate}:duration=${seconds}`],
    ...['-f', 'lavfi', '-i', `sine=duration=${seconds}`, ...options, ...extra, path],
  ]);
  return path;
}

/** Output of ffmpeg with these options. */
export function made(folder: string, name: string, ...options: string[]): Buffer {
  const path = join(folder, name);
  ffmpeg([...options, path]);
  return readFileSync(path);
}

/** A copy with the first box (or every box) of this type changed; its body begins 4 bytes after `at`. */
export function patched(file: Buffer, type: string, patch: (copy: Buffer, at: number) => void): Buffer {
  const copy = Buffer.from(file);
  const index = copy.indexOf('moov', 0, 'latin1');
  let found = 0;
  for (let at = copy.indexOf(type, index, 'latin1'); at >= 0; at = copy.indexOf(type, at + 4, 'latin1')) {
    patch(copy, at);
    found += 1;
  }
  if (found === 0) throw new Error(`no ${type}`);
  return copy;
}

/** Multiplies the display time of each frame in the `stts` of the first track. */
export function stretched(file: Buffer, times: number): Buffer {
  let isFirst = true;
  return patched(file, 'stts', (copy, at) => {
    if (isFirst) copy.writeUInt32BE(Math.max(1, Math.floor(copy.readUInt32BE(at + 16) * times)), at + 16);
    isFirst = false;
  });
}

export function avi(url: string): Buffer {
  const chunk = (id: string, body: Buffer) => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(body.length);
    return Buffer.concat([Buffer.from(id), size, body, Buffer.alloc(body.length % 2)]);
  };
  const playlist = Buffer.from(`GAB2\0\x02\0\0\0#EXTM3U\n#EXTINF:1,\n${url}\n`);
  const movie = chunk('LIST', Buffer.concat([Buffer.from('movi'), chunk('00tx', playlist)]));
  return chunk('RIFF', Buffer.concat([Buffer.from('AVI '), movie]));
}
