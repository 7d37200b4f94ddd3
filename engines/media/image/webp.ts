import { orientationOf } from './exif.ts';
import { CUT, FOREIGN, type ImageStructure, isForeignTail, MAX_PARTS, UPRIGHT } from './imageStructure.ts';

const HEAD_BYTES = 12;

/** Walks the chunks that the RIFF head announces. */
export function walkWebp(file: Buffer): ImageStructure {
  const found = { ...UPRIGHT };
  const end = 8 + file.readUInt32LE(4);
  if (end > file.length) return CUT;
  let at = HEAD_BYTES;
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
