/** Is this file a video at all, and all of it? A look at its outermost structure, cheap enough to do before it is stored. */
import type { FileHandle } from 'node:fs/promises';
import { type FileCheck, inspectFile } from './audioFile.ts';

type VideoContentType = 'video/mp4' | 'video/quicktime' | 'video/webm' | 'video/x-matroska';

const BOX_HEAD_BYTES = 16;
/** Fragmented files have two boxes a fragment; this is hours of them. */
const MAX_BOXES = 20_000;
/** With what MP4 and QuickTime files begin; very old QuickTime has no `ftyp`. */
const FIRST_BOXES = ['ftyp', 'moov', 'mdat', 'wide', 'free', 'skip'];

/**
 * Tells the container by its signature, never by what anybody says about it. Not video, empty, or an MP4 that ends before
 * the lengths it declares or has no index: not ok. It reads the heads of the boxes and decodes nothing.
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

/** The type that the first bytes of a file show; undefined when they are of no video container. */
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
  // Sound and still pictures come in the same container.
  return /^(M4A|M4B|heic|heix|mif1|avif)/.test(brand) ? undefined : 'video/mp4';
}

/** Every box ends where the next begins, the last at the end of the file, and the index is among them. */
async function isWhole(file: FileHandle, sizeBytes: number): Promise<boolean> {
  let offset = 0;
  let indexed = false;
  for (let boxes = 0; offset < sizeBytes; boxes += 1) {
    const box = await boxAt(file, offset);
    if (box === undefined || boxes === MAX_BOXES) return false;
    indexed ||= box.type === 'moov';
    // Length 0: up to the end of the file.
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
