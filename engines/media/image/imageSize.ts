/**
 * Reads the size of an image from its header fields. Nothing is decoded, so an image that would unpack to gigabytes
 * costs no more than any other.
 */

export interface ImageSize {
  width: number;
  height: number;
}

/** Undefined when the header is damaged or has no size. */
export function imageSize(bytes: Buffer, mediaType: string): ImageSize | undefined {
  const size = READERS[mediaType]?.(bytes);
  return size && size.width > 0 && size.height > 0 ? size : undefined;
}

const READERS: Record<string, (bytes: Buffer) => ImageSize | undefined> = {
  'image/png': ofPng,
  'image/jpeg': ofJpeg,
  'image/webp': ofWebp,
  'image/heic': ofHeif,
  'image/heif': ofHeif,
  'image/avif': ofHeif,
};

function word(bytes: Buffer, at: number): string {
  return bytes.toString('latin1', at, at + 4);
}

function ofPng(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 24 || word(bytes, 12) !== 'IHDR') return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

/** Each segment has its own length. The frame header comes before the image data. */
function ofJpeg(bytes: Buffer): ImageSize | undefined {
  let at = 2;
  for (let segment = 0; segment < MAX_SEGMENTS && at + 9 <= bytes.length; segment += 1) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) at += 1;
    else if (isFrame(marker)) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    else if (marker === START_OF_SCAN || marker === END_OF_IMAGE) return undefined;
    else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

const MAX_SEGMENTS = 10_000;
const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;
/** Markers of tables in the number range of frames. */
const NO_FRAMES = new Set([0xc4, 0xc8, 0xcc]);

function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && !NO_FRAMES.has(marker);
}

function ofWebp(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30) return undefined;
  switch (word(bytes, 12)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

/** A tiled image has one box per size. The largest is that of the whole image. */
function ofHeif(bytes: Buffer): ImageSize | undefined {
  const head = bytes.subarray(0, HEIF_HEAD_BYTES);
  let largest: ImageSize | undefined;
  for (let at = head.indexOf('ispe'); at >= 0 && at + 16 <= head.length; at = head.indexOf('ispe', at + 16)) {
    const size = { width: head.readUInt32BE(at + 8), height: head.readUInt32BE(at + 12) };
    if (!largest || size.width * size.height > largest.width * largest.height) largest = size;
  }
  return largest;
}

/** Metadata boxes come before the image data. */
const HEIF_HEAD_BYTES = 256 * 1024;
