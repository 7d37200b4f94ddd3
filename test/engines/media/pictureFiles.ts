/** Real images in every accepted format, and bytes around and inside them that no camera writes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { ffmpeg } from './recordings.ts';

export const PICTURES = ['png', 'jpg', 'webp', 'gif', 'avif'] as const;
export type PictureFormat = (typeof PICTURES)[number];

const ENCODERS: Record<PictureFormat, string[]> = {
  png: [],
  jpg: ['-pix_fmt', 'yuvj420p'],
  webp: ['-c:v', 'libwebp', '-compression_level', '0'],
  gif: [],
  avif: ['-pix_fmt', 'yuv420p', '-c:v', 'libaom-av1', '-cpu-used', '8', '-still-picture', '1'],
};

export interface Size {
  width: number;
  height: number;
}

/** Coloured bars. */
export function picture(folder: string, format: PictureFormat, { width, height }: Size): Buffer {
  const path = join(folder, `bars-${width}x${height}.${format}`);
  // The source makes even sizes only.
  const source = `testsrc2=size=${width + 2}x${height + 2},format=rgb24,crop=${width}:${height}:0:0:exact=1`;
  ffmpeg(['-f', 'lavfi', '-i', source, '-frames:v', '1', ...ENCODERS[format], path]);
  return readFileSync(path);
}

export function pngChunk(name: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const around = Buffer.alloc(8);
  around.writeUInt32BE(content.length, 0);
  around.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)]);
}

/** Offset after the signature and IHDR. */
export const AFTER_PNG_HEAD = 33;
/** Offset after its first two bytes. */
export const AFTER_JPEG_START = 2;

export function inserted(file: Buffer, at: number, piece: Buffer): Buffer {
  return Buffer.concat([file.subarray(0, at), piece, file.subarray(at)]);
}

/** Grey, 8 bits a pixel; the number of rows may differ from the header. */
export function greyPng({ width, height }: Size, rows = height): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8;
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', head),
    pngChunk('IDAT', deflateSync(Buffer.alloc((width + 1) * rows), { level: 1 })),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A little-endian Exif directory that ends with the orientation. */
export function exif(orientation: number, entries = 1): Buffer {
  const directory = Buffer.alloc(2 + entries * 12 + 4);
  directory.writeUInt16LE(entries, 0);
  for (let entry = 0; entry < entries; entry += 1) {
    const at = 2 + entry * 12;
    const isLast = entry === entries - 1;
    directory.writeUInt16LE(isLast ? 274 : 0x100, at);
    directory.writeUInt16LE(3, at + 2);
    directory.writeUInt32LE(1, at + 4);
    directory.writeUInt16LE(isLast ? orientation : 1, at + 8);
  }
  return Buffer.concat([Buffer.from('II*\0\x08\0\0\0', 'latin1'), directory]);
}

export function exifSegment(tiff: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff.subarray(0, 65_000)]);
  const head = Buffer.from([0xff, 0xe1, 0, 0]);
  head.writeUInt16BE(body.length + 2, 2);
  return Buffer.concat([head, body]);
}

/** This many frames of one pixel on a canvas of this size. */
export function gif({ width, height }: Size, pictures: number): Buffer {
  const head = Buffer.from('GIF89a\0\0\0\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1');
  head.writeUInt16LE(width, 6);
  head.writeUInt16LE(height, 8);
  const one = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]);
  return Buffer.concat([head, ...Array.from({ length: pictures }, () => one), Buffer.from([0x3b])]);
}
