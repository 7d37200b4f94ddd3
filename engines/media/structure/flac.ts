import { type Structure, WHOLE } from './structure.ts';

const STREAM_INFO_END = 42;

/** A frame does not announce its size: a cut one is the decoder's to report. The length is what the first block says. */
export function walkFlac(file: Buffer): Structure {
  if (file.length < STREAM_INFO_END || file.toString('latin1', 0, 4) !== 'fLaC') return WHOLE;
  const rate = file.readUIntBE(18, 3) >>> 4;
  const samples = (file.readUInt8(21) & 0x0f) * 2 ** 32 + file.readUInt32BE(22);
  return rate > 0 && samples > 0 ? { cut: false, seconds: samples / rate } : WHOLE;
}
