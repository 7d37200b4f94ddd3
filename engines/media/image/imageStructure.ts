import { childrenOf, descendant, topBoxes } from '../structure/boxes.ts';
import { orientationOf } from './exif.ts';

/** Result of a walk over the chunks, segments or boxes of an image. Nothing is decoded. */
export interface ImageStructure {
  /** The file ends too early. */
  cut: boolean;
  /** Other data follows the image, or the file is built to keep a decoder busy. */
  foreign: boolean;
  /** Exif orientation, 1 to 8. From 5 on, width and height are swapped. */
  orientation: number;
  /** More than one frame. */
  animated: boolean;
}

export const UPRIGHT: ImageStructure = { cut: false, foreign: false, orientation: 1, animated: false };
export const CUT: ImageStructure = { ...UPRIGHT, cut: true };
export const FOREIGN: ImageStructure = { ...UPRIGHT, foreign: true };

/** Maximum number of chunks, segments and blocks. No genuine image comes near it. */
export const MAX_PARTS = 1_000_000;

/** Bytes after the end that count as padding by a careless writer. */
const MAX_STRAY_BYTES = 512;
const OTHER_FILES = /<|PK|%PDF|#!|#EXT/;

/** Whether the bytes after the end of an image make it two files in one. */
export function isForeignTail(file: Buffer, end: number): boolean {
  const tail = file.subarray(end);
  return tail.length > MAX_STRAY_BYTES || OTHER_FILES.test(tail.toString('latin1'));
}

/** Walks the boxes of an AVIF. Rotation is a property that decoders leave to the viewer. */
export function walkAvif(file: Buffer): ImageStructure {
  const { boxes, cut, foreign } = topBoxes({
    size: file.length,
    bytes: (at, length) => file.subarray(at, at + length),
  });
  if (cut || foreign) return { ...UPRIGHT, cut, foreign };
  const meta = boxes.find(({ type }) => type === 'meta');
  if (meta === undefined) return FOREIGN;
  const properties = descendant(file.subarray(meta.bodyStart + 4, meta.end), ['iprp', 'ipco']);
  const turn = properties && childrenOf(properties).find(({ type }) => type === 'irot');
  const quarter = ((turn?.body[0] ?? 0) & 1) === 1;
  return { ...UPRIGHT, orientation: quarter ? 6 : 1, animated: boxes.some(({ type }) => type === 'moov') };
}

const PNG_SIGNATURE_BYTES = 8;
/** Bytes of length, name and checksum. */
const PNG_CHUNK_FRAME_BYTES = 12;

/** Walks the chunks of a PNG up to the last one. */
export function walkPng(file: Buffer): ImageStructure {
  const found = { ...UPRIGHT };
  let at = PNG_SIGNATURE_BYTES;
  for (let chunk = 0; chunk < MAX_PARTS; chunk += 1) {
    if (at + PNG_CHUNK_FRAME_BYTES > file.length) return CUT;
    const end = at + PNG_CHUNK_FRAME_BYTES + file.readUInt32BE(at);
    if (end > file.length) return CUT;
    const name = file.toString('latin1', at + 4, at + 8);
    if (name === 'acTL') found.animated = true;
    if (name === 'eXIf') found.orientation = orientationOf(file.subarray(at + 8, end - 4));
    if (name === 'IEND') return { ...found, foreign: isForeignTail(file, end) };
    at = end;
  }
  return FOREIGN;
}

const WEBP_HEAD_BYTES = 12;

/** Walks the chunks within the RIFF size of a WebP. */
export function walkWebp(file: Buffer): ImageStructure {
  const found = { ...UPRIGHT };
  const end = 8 + file.readUInt32LE(4);
  if (end > file.length) return CUT;
  let at = WEBP_HEAD_BYTES;
  for (let chunk = 0; at + 8 <= end; chunk += 1) {
    if (chunk > MAX_PARTS) return FOREIGN;
    const name = file.toString('latin1', at, at + 4);
    const bodyEnd = at + 8 + file.readUInt32LE(at + 4);
    if (bodyEnd > end) return CUT;
    if (name === 'ANIM' || name === 'ANMF') found.animated = true;
    if (name === 'EXIF') found.orientation = orientationOf(file.subarray(at + 8, bodyEnd));
    at = bodyEnd + (bodyEnd % 2);
  }
  return { ...found, foreign: isForeignTail(file, end) };
}
