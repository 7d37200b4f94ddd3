import type { Structure } from './structure.ts';

const KBPS = {
  v1l1: [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  v1l2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  v1l3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  v2l1: [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  v2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};
const HZ = [44_100, 48_000, 32_000];

interface Frame {
  bytes: number;
  seconds: number;
  /** Offset of a possible Xing header from the start of the frame. */
  tagOffset: number;
}

interface FrameTotals {
  frames: number;
  seconds: number;
  frameBytes: number;
  otherBytes: number;
  lastIsCut: boolean;
}

/**
 * Walks the frames. The file is cut when its last frame is incomplete, or when the Xing header counts more bytes and
 * more frames than present. Only one of the two means a wrong header.
 */
export function walkMp3(file: Buffer): Structure {
  const start = afterId3(file, 0);
  const walk = walkFrames(file, start);
  if (walk.frameBytes < walk.otherBytes) return { cut: false, foreign: true };
  const promise = xing(file, start);
  const short = (bytes: number) => bytes > file.length - start && (promise?.frames ?? 0) > walk.frames;
  const cut = promise?.bytes === undefined ? walk.lastIsCut : short(promise.bytes);
  return { cut, seconds: walk.seconds };
}

function walkFrames(file: Buffer, start: number): FrameTotals {
  const walk: FrameTotals = { frames: 0, seconds: 0, frameBytes: 0, otherBytes: 0, lastIsCut: false };
  let position = start;
  while (position + 4 <= file.length) {
    const frame = frameAt(file, position);
    if (frame === undefined) {
      const next = afterOther(file, position);
      walk.otherBytes += isTag(file, position) ? 0 : next - position;
      position = next;
      continue;
    }
    walk.lastIsCut = position + frame.bytes > file.length;
    walk.frames += walk.lastIsCut ? 0 : 1;
    walk.seconds += frame.seconds;
    walk.frameBytes += frame.bytes;
    position += frame.bytes;
  }
  return walk;
}

/** Position after a tag, or of the next two consecutive frames. */
function afterOther(file: Buffer, position: number): number {
  const tagEnd = afterId3(file, position);
  if (tagEnd > position) return tagEnd;
  if (isTag(file, position)) return file.length;
  for (let next = position + 1; next + 4 <= file.length; next += 1) {
    const frame = file[next] === 0xff ? frameAt(file, next) : undefined;
    if (frame && next + frame.bytes <= file.length - 4 && frameAt(file, next + frame.bytes)) return next;
  }
  return file.length;
}

/** Tags at the end of a file. No audio follows them. */
function isTag(file: Buffer, position: number): boolean {
  return /^(TAG|APETAGEX|LYRICSBEGIN|ID3)/.test(file.toString('latin1', position, position + 11));
}

function afterId3(file: Buffer, position: number): number {
  if (position + 10 > file.length || file.toString('latin1', position, position + 3) !== 'ID3') return position;
  const [a = 0, b = 0, c = 0, d = 0] = file.subarray(position + 6, position + 10);
  return position + 10 + (a * 128 ** 3 + b * 128 ** 2 + c * 128 + d);
}

function frameAt(file: Buffer, position: number): Frame | undefined {
  if (position + 4 > file.length) return undefined;
  const header = file.readUInt32BE(position);
  const version = (header >>> 19) & 3;
  const layer = 4 - ((header >>> 17) & 3);
  const hz = HZ[(header >>> 10) & 3];
  if (header >>> 21 !== 0x7ff || version === 1 || layer === 4 || hz === undefined) return undefined;
  const kbps = table(version, layer)[(header >>> 12) & 15];
  if (!kbps) return undefined;
  const rate = version === 3 ? hz : version === 2 ? hz / 2 : hz / 4;
  const padding = (header >>> 9) & 1;
  const samples = layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1_152;
  const slot = layer === 1 ? 4 : 1;
  const bytes = (Math.floor((samples * kbps * 125) / rate / slot) + padding) * slot;
  const mono = ((header >>> 6) & 3) === 3;
  const side = version === 3 ? (mono ? 17 : 32) : mono ? 9 : 17;
  return { bytes, seconds: samples / rate, tagOffset: 4 + side };
}

function table(version: number, layer: number): number[] {
  if (version === 3) return layer === 1 ? KBPS.v1l1 : layer === 2 ? KBPS.v1l2 : KBPS.v1l3;
  return layer === 1 ? KBPS.v2l1 : KBPS.v2;
}

function xing(file: Buffer, start: number): { frames?: number; bytes?: number } | undefined {
  const frame = frameAt(file, start);
  const tag = start + (frame?.tagOffset ?? 0);
  if (frame === undefined || tag + 16 > file.length) return undefined;
  if (!['Xing', 'Info'].includes(file.toString('latin1', tag, tag + 4))) return undefined;
  const flags = file.readUInt32BE(tag + 4);
  const frames = (flags & 1) !== 0 ? file.readUInt32BE(tag + 8) : undefined;
  const bytesAt = tag + 8 + (frames === undefined ? 0 : 4);
  const bytes = (flags & 2) !== 0 ? file.readUInt32BE(bytesAt) : undefined;
  return { ...(frames === undefined ? {} : { frames }), ...(bytes === undefined ? {} : { bytes }) };
}
