/**
 * Removes metadata from images by dropping parts that a decoder does not need. Nothing is decoded, so nothing is lost.
 * Bytes after the end of the image are dropped too.
 */

export type PlainType = 'image/png' | 'image/jpeg' | 'image/webp';

/** Equal bytes when there is no metadata. Undefined when parts are unknown and the image must be encoded again. */
export function removeMetadata(file: Buffer, type: PlainType): Buffer | undefined {
  const kept = KEEPERS[type](file);
  if (kept === undefined) return undefined;
  const bare = Buffer.concat(kept);
  if (type === 'image/webp') bare.writeUInt32LE(bare.length - 8, 4);
  return bare;
}

const KEEPERS: Record<PlainType, (file: Buffer) => Buffer[] | undefined> = {
  'image/png': keepPng,
  'image/jpeg': keepJpeg,
  'image/webp': keepWebp,
};

const MAX_PARTS = 100_000;
/** `pHYs`, the resolution, stays: every writer adds it, and it reveals nothing. */
const PNG_PARTS = new Set(['IHDR', 'PLTE', 'tRNS', 'pHYs', 'IDAT', 'IEND']);

function keepPng(file: Buffer): Buffer[] | undefined {
  const kept: Buffer[] = [file.subarray(0, 8)];
  let at = 8;
  for (let part = 0; part < MAX_PARTS && at + 12 <= file.length; part += 1) {
    const end = at + 12 + file.readUInt32BE(at);
    const name = file.toString('latin1', at + 4, at + 8);
    if (PNG_PARTS.has(name)) kept.push(file.subarray(at, end));
    if (name === 'IEND') return kept;
    at = end;
  }
  return undefined;
}

const END_OF_IMAGE = 0xd9;
const START_OF_SCAN = 0xda;
const COMMENT = 0xfe;
/** Tells how to interpret the colours. */
const ADOBE = 0xee;
const ADOBE_BYTES = 14;
const JFIF = 0xe0;
/** Length of a JFIF segment without a thumbnail. */
const JFIF_BYTES = 16;

function keepJpeg(file: Buffer): Buffer[] | undefined {
  const kept: Buffer[] = [file.subarray(0, 2)];
  let at = 2;
  for (let part = 0; part < MAX_PARTS && at + 2 <= file.length; part += 1) {
    const marker = file[at + 1] ?? 0;
    if (file[at] !== 0xff || marker === 0xff) return undefined;
    if (marker === END_OF_IMAGE) return [...kept, file.subarray(at, at + 2)];
    if (at + 4 > file.length) return undefined;
    let end = at + 2 + file.readUInt16BE(at + 2);
    if (marker === START_OF_SCAN) end = scanEnd(file, end);
    const use = useOf(file, { marker, at, end });
    if (use === 'unknown') return undefined;
    if (use === 'picture') kept.push(file.subarray(at, end));
    at = end;
  }
  // Some writers omit the end marker, which decoders accept. Such a file is encoded again.
  return undefined;
}

interface Segment {
  marker: number;
  at: number;
  end: number;
}

function useOf(file: Buffer, { marker, at, end }: Segment): 'picture' | 'note' | 'unknown' {
  const name = file.toString('latin1', at + 4, at + 9);
  const length = end - at - 2;
  if (marker === JFIF && name === 'JFIF\0') return length === JFIF_BYTES ? 'picture' : 'unknown';
  if (marker === ADOBE && name === 'Adobe') return length === ADOBE_BYTES ? 'picture' : 'unknown';
  return (marker >= 0xe0 && marker <= 0xef) || marker === COMMENT ? 'note' : 'picture';
}

/** End of the scan: the next marker that is not part of it. */
function scanEnd(file: Buffer, start: number): number {
  for (let at = file.indexOf(0xff, start); at >= 0; at = file.indexOf(0xff, at + 1)) {
    const next = file[at + 1] ?? 0;
    if (next !== 0 && !(next >= 0xd0 && next <= 0xd7)) return at;
  }
  return file.length;
}

const WEBP_PARTS = new Set(['VP8X', 'ALPH', 'VP8 ', 'VP8L']);
/** Alpha flag of VP8X. */
const ALPHA = 0x10;

function keepWebp(file: Buffer): Buffer[] | undefined {
  const kept: Buffer[] = [Buffer.from(file.subarray(0, 12))];
  const end = Math.min(8 + file.readUInt32LE(4), file.length);
  let at = 12;
  for (let part = 0; part < MAX_PARTS && at + 8 <= end; part += 1) {
    const name = file.toString('latin1', at, at + 4);
    const size = file.readUInt32LE(at + 4);
    const next = at + 8 + size + (size % 2);
    if (WEBP_PARTS.has(name)) kept.push(name === 'VP8X' ? withoutFlags(file, at) : file.subarray(at, next));
    at = next;
  }
  return at >= end ? kept : undefined;
}

function withoutFlags(file: Buffer, at: number): Buffer {
  const part = Buffer.from(file.subarray(at, at + 18));
  part.writeUInt8((part[8] ?? 0) & ALPHA, 8);
  return part;
}
