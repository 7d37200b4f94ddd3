/** Cheap check of the first bytes, before an output is stored: is the file audio? */

import { type FileHandle, open } from 'node:fs/promises';

export type AudioContentType =
  | 'audio/mpeg'
  | 'audio/wav'
  | 'audio/ogg'
  | 'audio/flac'
  | 'audio/mp4'
  | 'audio/aac'
  | 'audio/webm';

/**
 * Detects the container by its signature, never by what is declared. Refuses other files, empty ones, and a RIFF file
 * that is shorter than it declares. Reads 64 bytes and runs no decoder that could hang.
 */
export function checkAudioFile(path: string): Promise<FileCheck<AudioContentType>> {
  return inspectFile(path, (head, sizeBytes) => {
    if (sizeBytes === 0) return { ok: false, detail: 'the output is empty' };
    const contentType = audioContentType(head);
    if (contentType === undefined) return { ok: false, detail: 'the output is not audio' };
    if (contentType === 'audio/wav' && isCut(head, sizeBytes)) return { ok: false, detail: 'the output is cut off' };
    return { ok: true, contentType, sizeBytes };
  });
}

/** Type by the first bytes; undefined for no audio container. */
export function audioContentType(head: Buffer): AudioContentType | undefined {
  const ascii = head.toString('latin1');
  if (ascii.startsWith('RIFF') && ascii.startsWith('WAVE', 8)) return 'audio/wav';
  if (ascii.startsWith('OggS')) return 'audio/ogg';
  if (ascii.startsWith('fLaC')) return 'audio/flac';
  if (ascii.startsWith('ftyp', 4)) return 'audio/mp4';
  if (ascii.startsWith('ID3')) return 'audio/mpeg';
  if (head.length >= 4 && head.readUInt32BE(0) === 0x1a45dfa3) return 'audio/webm';
  return mpegContentType(head);
}

/** Checks an MPEG audio frame header: 11 bits of sync, then fields with some reserved values. */
function mpegContentType(head: Buffer): AudioContentType | undefined {
  const [sync = 0, layerByte = 0, rateByte = 0] = head;
  if (head.length < 4 || sync !== 0xff || (layerByte & 0xe0) !== 0xe0) return undefined;
  const layer = (layerByte >> 1) & 0b11;
  // Layer bits 00 are reserved in MPEG audio and mean ADTS, the framing of raw AAC.
  if (layer === 0) return (layerByte & 0xf0) === 0xf0 ? 'audio/aac' : undefined;
  const version = (layerByte >> 3) & 0b11;
  const bitrate = rateByte >> 4;
  const sampleRate = (rateByte >> 2) & 0b11;
  return version !== 1 && bitrate !== 15 && sampleRate !== 3 ? 'audio/mpeg' : undefined;
}

/** Streamed WAV files declare 0 or the largest length. Any other length beyond the file means that it was cut off. */
function isCut(head: Buffer, sizeBytes: number): boolean {
  const declared = head.length >= 8 ? head.readUInt32LE(4) : 0;
  const known = declared !== 0 && declared !== 0xffffffff && declared !== 0x7fffffff;
  return known && declared + 8 > sizeBytes;
}

const HEAD_BYTES = 64;

export type FileCheck<ContentType> =
  | { ok: true; contentType: ContentType; sizeBytes: number }
  | { ok: false; detail: string };

/** Opens a file and passes its first bytes to `inspect`. */
export async function inspectFile<T>(
  path: string,
  inspect: (head: Buffer, sizeBytes: number, file: FileHandle) => T | Promise<T>,
): Promise<T> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const head = Buffer.alloc(Math.min(HEAD_BYTES, size));
    if (size > 0) await file.read(head, 0, head.length, 0);
    return await inspect(head, size, file);
  } finally {
    await file.close();
  }
}

export function readHead(path: string): Promise<Buffer> {
  return inspectFile(path, (head) => head);
}
