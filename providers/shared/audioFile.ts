/** Is this file audio at all? A look at the first bytes, cheap enough to do before any output is stored. */

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
 * Tells the container by its signature, never by what anybody says about it. Not audio, empty, or a RIFF file that ends
 * before the length it declares: not ok. It reads 64 bytes and parses nothing that could be made to hang.
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

/** The type that the first bytes of a file show; undefined when they are of no audio container. */
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

/** An MPEG audio frame header: 11 bits of sync, then fields of which some values are reserved. */
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

/** Streamed WAV files declare 0 or the largest length; any other that is longer than the file was cut. */
function isCut(head: Buffer, sizeBytes: number): boolean {
  const declared = head.length >= 8 ? head.readUInt32LE(4) : 0;
  const known = declared !== 0 && declared !== 0xffffffff && declared !== 0x7fffffff;
  return known && declared + 8 > sizeBytes;
}

const HEAD_BYTES = 64;

export type FileCheck<ContentType> =
  | { ok: true; contentType: ContentType; sizeBytes: number }
  | { ok: false; detail: string };

/** Opens a file and reads its first bytes, by which its kind can be told. */
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
