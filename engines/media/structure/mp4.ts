import { type Structure, WHOLE } from './structure.ts';

const BOX_TYPE = /^[\x20-\x7e\xa9]{4}$/;

/** Walks the top-level boxes. */
export function walkMp4(file: Buffer): Structure {
  let position = 0;
  while (position + 8 <= file.length) {
    const type = file.toString('latin1', position + 4, position + 8);
    if (!BOX_TYPE.test(type)) break;
    const size = boxSize(file, position);
    if (size === 0) break;
    if (size < 8 || position + size > file.length) return { cut: true };
    position += size;
  }
  return WHOLE;
}

/** Zero: the box goes on to the end of the file. */
function boxSize(file: Buffer, position: number): number {
  const size = file.readUInt32BE(position);
  if (size !== 1) return size;
  return position + 16 <= file.length ? Number(file.readBigUInt64BE(position + 8)) : Number.POSITIVE_INFINITY;
}
