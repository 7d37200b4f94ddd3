import { type Structure, WHOLE } from './structure.ts';

/** Walks the ADTS frames of an AAC file. */
export function walkAdts(file: Buffer): Structure {
  let position = 0;
  while (position + 7 <= file.length) {
    if ((file.readUInt16BE(position) & 0xfff6) !== 0xfff0) break;
    const end = position + frameBytes(file, position);
    if (end <= position) break;
    if (end > file.length) return { cut: true };
    position = end;
  }
  return WHOLE;
}

/** The 13 bits across bytes 3 to 5. */
function frameBytes(file: Buffer, position: number): number {
  return (file.readUIntBE(position + 3, 3) >>> 5) & 0x1fff;
}
