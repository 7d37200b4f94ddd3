/** Files with a wrong length: patched header fields of a real recording. */
import type { Encoding } from './recordings.ts';

export const LIES = ['shorter', 'longer', 'zero', 'nan', 'huge'] as const;
export type Lie = (typeof LIES)[number];

export interface Spoof {
  field: string;
  file: Buffer;
}

/** One spoof for every field that states a length. */
export function spoofs(encoding: Encoding, original: Buffer, lie: Lie): Spoof[] {
  const patched = (field: string, patch: (file: Buffer) => boolean): Spoof[] => {
    const file = Buffer.from(original);
    return patch(file) ? [{ field, file }] : [];
  };
  switch (encoding.format) {
    case 'wav':
      return [
        ...patched('data size', (file) => patchWav(file, lie, ['data'])),
        ...patched('riff size', (file) => patchWav(file, lie, ['RIFF'])),
        ...patched('both sizes', (file) => patchWav(file, lie, ['data', 'RIFF'])),
        ...patched('fact', (file) => patchWav(file, lie, ['fact'])),
      ];
    case 'flac':
      return patched('STREAMINFO', (file) => patchStreamInfo(file, file.indexOf('fLaC') + 8, lie));
    case 'mp3':
      return [
        ...patched('Xing frames', (file) => patchXing(file, lie, ['frames'])),
        ...patched('Xing bytes', (file) => patchXing(file, lie, ['bytes'])),
        ...patched('encoder delay', patchDelay),
        ...patched('VBRI', (file) => patchVbri(file, lie)),
        { field: 'TLEN', file: withLengthTag(original, lie) },
      ];
    case 'aac':
      return [
        { field: 'TLEN', file: withLengthTag(original, lie) },
        ...patched('fullness', (file) => patchFullness(file, lie)),
      ];
    case 'ogg':
      return [
        ...patched('all granules', (file) => patchGranules(file, lie, 'all')),
        ...patched('last granule', (file) => patchGranules(file, lie, 'last')),
        ...patched('pre-skip', patchPreSkip),
        ...patched('STREAMINFO', patchOggFlac(lie)),
      ];
    case 'mp4':
      return [
        ...patched('mvhd', (file) => patchBoxes(file, lie, ['mvhd'])),
        ...patched('mdhd', (file) => patchBoxes(file, lie, ['mdhd'])),
        ...patched('all durations', (file) => patchBoxes(file, lie, ['mvhd', 'mdhd', 'tkhd', 'elst', 'mehd'])),
        ...patched('edit list', (file) => patchBoxes(file, lie, ['elst'])),
        ...patched('sample durations', (file) => patchBoxes(file, lie, ['stts'])),
        ...patched('time scale', (file) => patchTimeScale(file, lie)),
      ];
    case 'webm':
      return [
        ...patched('Duration', (file) => patchDouble(file, lie)),
        ...patched('CodecDelay', (file) => patchCodecDelay(file, lie)),
        ...patched('cluster times', (file) => patchClusterTimes(file, lie)),
      ];
  }
}

/** False value of an unsigned field of this many bits, whose true value is `truth`. */
function lied(truth: number, lie: Lie, bits: number): bigint {
  const top = (1n << BigInt(bits)) - 1n;
  if (lie === 'zero') return 0n;
  if (lie === 'huge') return top;
  if (lie === 'nan')
    return (bits >= 64 ? 0x7ff8_0000_0000_0000n : 0x7fc0_0000n << BigInt(Math.max(0, bits - 32))) & top;
  if (lie === 'longer') return BigInt(truth) * 10n > top ? top : BigInt(truth) * 10n;
  return BigInt(Math.max(1, Math.floor(truth / 60)));
}

function patchWav(file: Buffer, lie: Lie, ids: string[]): boolean {
  for (const id of ids) {
    const position = file.indexOf(id, 0, 'latin1');
    if (position < 0 || position > 200) return false;
    const field = position + (id === 'fact' ? 8 : 4);
    file.writeUInt32LE(Number(lied(file.readUInt32LE(field), lie, 32)), field);
  }
  return true;
}

/** The number of samples has 36 bits at the end of 18 bytes. */
function patchStreamInfo(file: Buffer, start: number, lie: Lie): boolean {
  const field = start + 13;
  const low = file.readUInt32BE(field + 1);
  const samples = lied((file.readUInt8(field) & 15) * 2 ** 32 + low, lie, 36);
  file.writeUInt8((file.readUInt8(field) & 0xf0) | Number(samples >> 32n), field);
  file.writeUInt32BE(Number(samples & 0xffff_ffffn), field + 1);
  return true;
}

function patchOggFlac(lie: Lie): (file: Buffer) => boolean {
  return (file) => {
    const start = file.indexOf('\x7fFLAC', 0, 'latin1');
    if (start < 0) return false;
    patchStreamInfo(file, start + 17, lie);
    for (const page of oggPages(file)) rewriteChecksum(file, page);
    return true;
  };
}

function xingAt(file: Buffer): number {
  return ['Xing', 'Info'].map((id) => file.indexOf(id, 0, 'latin1')).find((at) => at > 0 && at < 2_000) ?? -1;
}

function patchXing(file: Buffer, lie: Lie, fields: ('frames' | 'bytes')[]): boolean {
  const tag = xingAt(file);
  if (tag < 0) return false;
  for (const field of fields) {
    const at = tag + (field === 'frames' ? 8 : 12);
    file.writeUInt32BE(Number(lied(file.readUInt32BE(at), lie, 32)), at);
  }
  return true;
}

/** The largest delay and padding in a LAME tag. */
function patchDelay(file: Buffer): boolean {
  const tag = xingAt(file);
  if (tag < 0) return false;
  file.writeUIntBE(0xff_ffff, tag + 141, 3);
  return true;
}

/** VBRI header in place of Xing's, 36 bytes into the first frame, where other encoders put it. */
function patchVbri(file: Buffer, lie: Lie): boolean {
  const tag = xingAt(file);
  if (tag < 0) return false;
  const frame = file.lastIndexOf(0xff, tag);
  file.fill(0, frame + 4, tag + 120);
  file.write('VBRI', frame + 36, 'latin1');
  file.writeUInt16BE(1, frame + 40);
  file.writeUInt32BE(Number(lied(file.length, lie, 32)), frame + 46);
  file.writeUInt32BE(Number(lied(2_500, lie, 32)), frame + 50);
  return true;
}

/** Adds an ID3 tag whose TLEN frame states the length in milliseconds. */
function withLengthTag(original: Buffer, lie: Lie): Buffer {
  const words = { shorter: '1000', longer: '9999999', zero: '0', nan: 'NaN', huge: '999999999999999999' }[lie];
  const frame = Buffer.concat([
    Buffer.from('TLEN\0\0\0'),
    Buffer.from([words.length + 1, 0, 0, 0]),
    Buffer.from(words),
  ]);
  const head = Buffer.concat([Buffer.from('ID3'), Buffer.from([3, 0, 0, 0, 0, 0, frame.length])]);
  return Buffer.concat([head, frame, original]);
}

/** ADTS has no length but the fullness of the decoder's buffer, which must not be trusted either. */
function patchFullness(file: Buffer, lie: Lie): boolean {
  const value = Number(lied(0x155, lie, 11));
  file.writeUInt8((file.readUInt8(5) & 0xe0) | (value >> 6), 5);
  file.writeUInt8((file.readUInt8(6) & 0x03) | ((value & 63) << 2), 6);
  return true;
}

interface Page {
  start: number;
  end: number;
  granule: bigint;
}

function oggPages(file: Buffer): Page[] {
  const pages: Page[] = [];
  for (let start = 0; start < file.length; ) {
    const body = start + 27 + file.readUInt8(start + 26);
    const end = file.subarray(start + 27, body).reduce((sum, size) => sum + size, body);
    pages.push({ start, end, granule: file.readBigUInt64LE(start + 6) });
    start = end;
  }
  return pages;
}

function patchGranules(file: Buffer, lie: Lie, which: 'all' | 'last'): boolean {
  const pages = oggPages(file).filter((page) => page.granule > 0n && page.granule < 1n << 62n);
  for (const page of which === 'all' ? pages : pages.slice(-1)) {
    file.writeBigUInt64LE(lied(Number(page.granule), lie, 64), page.start + 6);
    rewriteChecksum(file, page);
  }
  return true;
}

function patchPreSkip(file: Buffer): boolean {
  const head = file.indexOf('OpusHead', 0, 'latin1');
  if (head < 0) return false;
  file.writeUInt16LE(0xffff, head + 10);
  for (const page of oggPages(file).slice(0, 1)) rewriteChecksum(file, page);
  return true;
}

function rewriteChecksum(file: Buffer, { start, end }: Page): void {
  file.writeUInt32LE(0, start + 22);
  let crc = 0;
  for (const byte of file.subarray(start, end)) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc & 0x8000_0000 ? 0x04c1_1db7 : 0);
  }
  file.writeUInt32LE(crc >>> 0, start + 22);
}

/** Offset of the (first) duration in each box, from its type; all in their 32-bit version. */
const DURATION_AT: Record<string, number> = { mvhd: 20, mdhd: 20, tkhd: 24, elst: 12, mehd: 8, stts: 16 };

function patchBoxes(file: Buffer, lie: Lie, types: string[]): boolean {
  let found = false;
  for (const type of types) {
    const at = boxAt(file, type);
    const field = at + (DURATION_AT[type] ?? 0);
    if (at < 0 || (type === 'elst' && file.readUInt32BE(at + 8) === 0)) continue;
    file.writeUInt32BE(Number(lied(file.readUInt32BE(field), lie, 32)), field);
    found = true;
  }
  return found;
}

function patchTimeScale(file: Buffer, lie: Lie): boolean {
  const field = boxAt(file, 'mdhd') + 16;
  file.writeUInt32BE(Number(lied(file.readUInt32BE(field), lie, 32)), field);
  return true;
}

/** Inside the moov box, which is before or after the sound. */
function boxAt(file: Buffer, type: string): number {
  return file.indexOf(type, file.indexOf('moov', 0, 'latin1'), 'latin1');
}

function patchDouble(file: Buffer, lie: Lie): boolean {
  const at = file.indexOf(Buffer.from([0x44, 0x89, 0x88]));
  if (at < 0) return false;
  const values = { shorter: 1_000, longer: 1e7, zero: 0, nan: Number.NaN, huge: Number.POSITIVE_INFINITY };
  file.writeDoubleBE(values[lie], at + 3);
  return true;
}

function patchCodecDelay(file: Buffer, lie: Lie): boolean {
  const at = file.indexOf(Buffer.from([0x56, 0xaa]));
  const bytes = at < 0 ? 0 : file.readUInt8(at + 2) & 15;
  if (bytes === 0 || bytes > 6 || at > 2_000) return false;
  file.writeUIntBE(Number(lied(6_500_000, lie, bytes * 8)), at + 3, bytes);
  return true;
}

function patchClusterTimes(file: Buffer, lie: Lie): boolean {
  let found = false;
  const cluster = Buffer.from([0x1f, 0x43, 0xb6, 0x75]);
  for (let at = file.indexOf(cluster); at >= 0; at = file.indexOf(cluster, at + 4)) {
    const time = file.indexOf(0xe7, at + 5);
    const bytes = file.readUInt8(time + 1) & 15;
    if (time > at + 16 || bytes < 2) continue;
    file.writeUIntBE(Number(lied(30_000, lie, bytes * 8)), time + 2, bytes);
    found = true;
  }
  return found;
}
