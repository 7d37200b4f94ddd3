import { orientationOf } from './exif.ts';
import { CUT, FOREIGN, type ImageStructure, isForeignTail, MAX_PARTS, UPRIGHT } from './imageStructure.ts';

const SIGNATURE_BYTES = 8;
/** Length, name and checksum. */
const FRAME_BYTES = 12;

/** Walks the chunks to the last one. */
export function walkPng(file: Buffer): ImageStructure {
  const found = { ...UPRIGHT };
  let at = SIGNATURE_BYTES;
  for (let chunk = 0; chunk < MAX_PARTS; chunk += 1) {
    if (at + FRAME_BYTES > file.length) return CUT;
    const end = at + FRAME_BYTES + file.readUInt32BE(at);
    if (end > file.length) return CUT;
    const name = file.toString('latin1', at + 4, at + 8);
    if (name === 'acTL') found.animated = true;
    if (name === 'eXIf') found.orientation = orientationOf(file.subarray(at + 8, end - 4));
    if (name === 'IEND') return { ...found, foreign: isForeignTail(file, end) };
    at = end;
  }
  return FOREIGN;
}
