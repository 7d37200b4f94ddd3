import { type Structure, WHOLE } from './structure.ts';

const CHUNK_ID = /^[\x20-\x7e]{4}$/;
/** Writers that cannot seek back leave sizes from this value on, or zero. */
const PLACEHOLDER_FROM = 0x4000_0000;
/** Bytes after the last chunk that count as padding by a careless writer. */
const MAX_STRAY_BYTES = 512;

const CUT_OFF: Structure = { cut: true };
const FALSE_LENGTH: Structure = { cut: false, falseLength: true };
const WITHOUT_AUDIO: Structure = { cut: false, tracks: { audio: 0, video: 0 } };

/**
 * Walks the chunks. The file is cut when RIFF size and data size agree on more bytes than present. A data size that
 * contradicts the rest is a false length: a reader that ignores lengths takes all later bytes as audio.
 */
export function walkWav(file: Buffer): Structure {
  let position = 12;
  let dataSeen = false;
  let bytesPerSecond = 0;
  let seconds: number | undefined;
  while (position + 8 <= file.length) {
    const id = file.toString('latin1', position, position + 4);
    const size = file.readUInt32LE(position + 4);
    const end = position + 8 + size;
    if (!CHUNK_ID.test(id)) return stray(file, position, dataSeen);
    if (id === 'data' && size === 0) return end === file.length ? WITHOUT_AUDIO : FALSE_LENGTH;
    if (end > file.length) return beyond(file, end);
    if (id === 'fmt ' && size >= 16) bytesPerSecond = file.readUInt32LE(position + 16);
    if (id === 'data' && bytesPerSecond > 0) seconds ??= size / bytesPerSecond;
    dataSeen ||= id === 'data';
    position = end + (size % 2);
  }
  if (!dataSeen) return withoutData(file);
  return { ...stray(file, position, dataSeen), ...(seconds === undefined ? {} : { seconds }) };
}

function stray(file: Buffer, position: number, dataSeen: boolean): Structure {
  return dataSeen && file.length - position > MAX_STRAY_BYTES ? FALSE_LENGTH : WHOLE;
}

function withoutData(file: Buffer): Structure {
  return promisedBytes(file) > file.length ? CUT_OFF : WITHOUT_AUDIO;
}

function beyond(file: Buffer, end: number): Structure {
  const promised = promisedBytes(file);
  const agrees = promised >= end && promised < PLACEHOLDER_FROM;
  return agrees ? CUT_OFF : FALSE_LENGTH;
}

function promisedBytes(file: Buffer): number {
  return file.readUInt32LE(4) + 8;
}
