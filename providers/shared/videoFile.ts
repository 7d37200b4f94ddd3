/** Cheap check of the outermost structure, before an output is stored: is the file a complete video? */
import type { FileHandle } from 'node:fs/promises';
import { type FileCheck, inspectFile } from './audioFile.ts';

type VideoContentType = 'video/mp4' | 'video/quicktime' | 'video/webm' | 'video/x-matroska';

const BOX_HEAD_BYTES = 16;
/** Fragmented files have two boxes per fragment; this is hours of them. */
const MAX_BOXES = 20_000;
/** First boxes of MP4 and QuickTime files; very old QuickTime has no `ftyp`. */
const FIRST_BOXES = ['ftyp', 'moov', 'mdat', 'wide', 'free', 'skip'];

/**
 * Detects the container by its signature, never by what is declared. Refuses other files, empty ones, and an MP4 that
 * is shorter than it declares or has no index. Reads the box headers and decodes nothing.
 */
export function checkVideoFile(path: string): Promise<FileCheck<VideoContentType>> {
  return inspectFile(path, async (head, sizeBytes, file) => {
    if (sizeBytes === 0) return { ok: false, detail: 'the output is empty' };
    const contentType = videoContentType(head);
    if (contentType === undefined) return { ok: false, detail: 'the output is not video' };
    const boxed = contentType === 'video/mp4' || contentType === 'video/quicktime';
    if (boxed && !(await isWhole(file, sizeBytes))) return { ok: false, detail: 'the output is cut off' };
    return { ok: true, contentType, sizeBytes };
  });
}

/** Type by the first bytes; undefined for no video container. */
function videoContentType(head: Buffer): VideoContentType | undefined {
  const ascii = head.toString('latin1');
  const box = ascii.slice(4, 8);
  if (box === 'ftyp') return typeOfBrand(ascii.slice(8, 12));
  if (FIRST_BOXES.includes(box)) return 'video/quicktime';
  if (head.length < 4 || head.readUInt32BE(0) !== 0x1a45dfa3) return undefined;
  return ascii.includes('webm') ? 'video/webm' : 'video/x-matroska';
}

function typeOfBrand(brand: string): VideoContentType | undefined {
  if (brand === 'qt  ') return 'video/quicktime';
  // Audio and still images use the same container.
  return /^(M4A|M4B|heic|heix|mif1|avif)/.test(brand) ? undefined : 'video/mp4';
}

/** Whether the boxes are contiguous up to the end of the file, and include the index. */
async function isWhole(file: FileHandle, sizeBytes: number): Promise<boolean> {
  let offset = 0;
  let indexed = false;
  for (let boxes = 0; offset < sizeBytes; boxes += 1) {
    const box = await boxAt(file, offset);
    if (box === undefined || boxes === MAX_BOXES) return false;
    indexed ||= box.type === 'moov';
    // Length 0 means up to the end of the file.
    offset = box.sizeBytes === 0 ? sizeBytes : offset + box.sizeBytes;
  }
  return indexed && offset === sizeBytes;
}

async function boxAt(file: FileHandle, offset: number): Promise<{ type: string; sizeBytes: number } | undefined> {
  const head = Buffer.alloc(BOX_HEAD_BYTES);
  const { bytesRead } = await file.read(head, 0, BOX_HEAD_BYTES, offset);
  if (bytesRead < 8) return undefined;
  const type = head.toString('latin1', 4, 8);
  const short = head.readUInt32BE(0);
  if (short === 0) return { type, sizeBytes: 0 };
  if (short !== 1) return short < 8 ? undefined : { type, sizeBytes: short };
  const long = bytesRead < BOX_HEAD_BYTES ? 0n : head.readBigUInt64BE(8);
  return long < 16n || long > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : { type, sizeBytes: Number(long) };
}
