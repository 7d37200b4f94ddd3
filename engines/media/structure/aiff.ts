import { type Structure, WHOLE } from './structure.ts';

const CHUNK_ID = /^[\x20-\x7e]{4}$/;

/** Walks the chunks of an AIFF or AIFF-C file. */
export function walkAiff(file: Buffer): Structure {
  let position = 12;
  while (position + 8 <= file.length) {
    if (!CHUNK_ID.test(file.toString('latin1', position, position + 4))) break;
    const size = file.readUInt32BE(position + 4);
    const end = position + 8 + size;
    if (end > file.length) return { cut: true };
    position = end + (size % 2);
  }
  return WHOLE;
}
