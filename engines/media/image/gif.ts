import type { ImageSize } from './imageSize.ts';
import { CUT, FOREIGN, type ImageStructure, isForeignTail, UPRIGHT } from './imageStructure.ts';

const HEAD_BYTES = 13;
const EXTENSION = 0x21;
const PICTURE = 0x2c;
const TRAILER = 0x3b;
/** Enough for 25 MB of the smallest blocks. */
const MAX_BLOCKS = 10_000_000;

export function isGif(file: Buffer): boolean {
  return /^GIF8[79]a$/.test(file.toString('latin1', 0, 6));
}

/** Size of the screen that contains all frames. */
export function gifSize(file: Buffer): ImageSize | undefined {
  if (file.length < HEAD_BYTES) return undefined;
  const size = { width: file.readUInt16LE(6), height: file.readUInt16LE(8) };
  return size.width > 0 && size.height > 0 ? size : undefined;
}

/** Walks the blocks up to the trailer. */
export function walkGif(file: Buffer): ImageStructure {
  let pictures = 0;
  let at = HEAD_BYTES + tableBytes(file[10] ?? 0);
  while (at < file.length) {
    const kind = file[at];
    if (kind === TRAILER) return { ...UPRIGHT, animated: pictures > 1, foreign: isForeignTail(file, at + 1) };
    if (kind === PICTURE) {
      pictures += 1;
      // The code size follows the position, the size and the colour table.
      at = afterBlocks(file, at + 11 + tableBytes(file[at + 9] ?? 0));
    } else if (kind === EXTENSION) at = afterBlocks(file, at + 2);
    else return FOREIGN;
  }
  return CUT;
}

/** The flags contain presence and length of the colour table. */
function tableBytes(flags: number): number {
  return flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0;
}

/** Each block starts with its length. An empty one ends the sequence. */
function afterBlocks(file: Buffer, start: number): number {
  let at = start;
  for (let block = 0; block < MAX_BLOCKS; block += 1) {
    const length = file[at];
    if (length === undefined) return file.length;
    at += 1 + length;
    if (length === 0) return at;
  }
  return file.length;
}
