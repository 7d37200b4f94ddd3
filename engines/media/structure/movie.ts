/** Walks an MP4 or MOV file: its boxes, its tracks, and whether all samples in the index are present. */
import { type Box, child, childrenOf, descendant, topBoxes } from './boxes.ts';
import { type FileWindow, MAX_PIECE_BYTES } from './fileWindow.ts';
import { fragmentSeconds } from './fragments.ts';
import type { VideoStructure, VideoTrack } from './videoStructure.ts';

const MAX_TRACKS = 64;

export function walkMovie(file: FileWindow, container: 'mp4' | 'mov'): VideoStructure {
  const { boxes, cut, foreign } = topBoxes(file);
  const none: VideoStructure = { container, cut, foreign, videoTracks: [], audioTracks: 0 };
  const moov = boxes.find(({ type }) => type === 'moov');
  // Writers put the index last, so a missing index means a truncated file.
  if (moov === undefined) return { ...none, cut: true };
  if (cut || foreign) return none;
  if (moov.end - moov.bodyStart > MAX_PIECE_BYTES) return { ...none, foreign: true };
  const index = Buffer.from(file.bytes(moov.bodyStart, moov.end - moov.bodyStart));
  const tracks = childrenOf(index).filter(({ type }) => type === 'trak');
  if (tracks.length > MAX_TRACKS) return { ...none, foreign: true };
  return { ...none, ...contentsOf({ file, boxes, index }, tracks) };
}

interface Movie {
  file: FileWindow;
  boxes: readonly Box[];
  index: Buffer;
}

function contentsOf(movie: Movie, tracks: readonly { body: Buffer }[]) {
  const kinds = tracks.map(({ body }) => ({ body, kind: handlerOf(body) }));
  const named = kinds.reduce((sum, { body }) => sum + sampleBytes(body), 0);
  const there = movie.boxes.reduce((sum, box) => sum + (box.type === 'mdat' ? box.end - box.bodyStart : 0), 0);
  const declared = declaredSeconds(movie, tracks);
  return {
    // An mdat box without a size extends to the end of a truncated file.
    cut: named > there,
    videoTracks: kinds.filter(({ kind }) => kind === 'vide').map(({ body }) => videoTrack(body)),
    audioTracks: kinds.filter(({ kind }) => kind === 'soun').length,
    ...(declared > 0 ? { declaredSeconds: declared } : {}),
  };
}

function handlerOf(track: Buffer): string | undefined {
  return descendant(track, ['mdia', 'hdlr'])?.toString('latin1', 8, 12);
}

/** Total size of all samples in the track's table. */
function sampleBytes(track: Buffer): number {
  const sizes = descendant(track, ['mdia', 'minf', 'stbl', 'stsz']);
  if (sizes === undefined || sizes.length < 12) return 0;
  const each = sizes.readUInt32BE(4);
  const count = sizes.readUInt32BE(8);
  if (each > 0) return each * count;
  let sum = 0;
  for (let at = 12; at + 4 <= Math.min(sizes.length, 12 + count * 4); at += 4) sum += sizes.readUInt32BE(at);
  return sum;
}

/** The sample entry has the stored size, the matrix in the header has the rotation. */
function videoTrack(track: Buffer): VideoTrack {
  const entry = descendant(track, ['mdia', 'minf', 'stbl', 'stsd'])?.subarray(8);
  const isKnown = entry !== undefined && entry.length >= 36;
  return {
    codec: entry?.toString('latin1', 4, 8) ?? '',
    width: isKnown ? entry.readUInt16BE(32) : 0,
    height: isKnown ? entry.readUInt16BE(34) : 0,
    quarterTurned: isQuarterTurned(child(track, 'tkhd')),
  };
}

/** The matrix is a, b, u, c, d, …. A quarter turn has a and d at zero, b and c not. */
function isQuarterTurned(header: Buffer | undefined): boolean {
  const matrixAt = header?.[0] === 1 ? 52 : 40;
  if (header === undefined || header.length < matrixAt + 20) return false;
  const [a, b, c, d] = [0, 4, 12, 16].map((offset) => header.readInt32BE(matrixAt + offset));
  return a === 0 && d === 0 && b !== 0 && c !== 0;
}

/** Longest length in any field, because a player or provider may use any of them. */
function declaredSeconds(movie: Movie, tracks: readonly { body: Buffer }[]): number {
  const whole = lengthOf(child(movie.index, 'mvhd'));
  const lengths = [whole?.seconds ?? 0];
  for (const { body } of tracks) {
    lengths.push(lengthOf(descendant(body, ['mdia', 'mdhd']))?.seconds ?? 0);
    lengths.push(editSeconds(descendant(body, ['edts', 'elst']), whole?.scale ?? 0));
  }
  if (child(movie.index, 'mvex')) lengths.push(...fragmentSeconds(movie.file, movie.boxes, scalesOf(movie.index)));
  return Math.max(...lengths.filter(Number.isFinite));
}

/** Ticks per second, by track number. */
function scalesOf(index: Buffer): Map<number, number> {
  const scales = new Map<number, number>();
  for (const { type, body } of childrenOf(index)) {
    if (type !== 'trak') continue;
    const header = child(body, 'tkhd');
    const idAt = header?.[0] === 1 ? 20 : 12;
    const scale = lengthOf(descendant(body, ['mdia', 'mdhd']))?.scale ?? 0;
    if (header !== undefined && header.length >= idAt + 4 && scale > 0) scales.set(header.readUInt32BE(idAt), scale);
  }
  return scales;
}

/** Reads `mvhd` or `mdhd`, which are equal up to here. All ones mean an unknown length. */
function lengthOf(header: Buffer | undefined): { scale: number; seconds: number } | undefined {
  const long = header?.[0] === 1;
  const scaleAt = long ? 20 : 12;
  if (header === undefined || header.length < scaleAt + (long ? 12 : 8)) return undefined;
  const scale = header.readUInt32BE(scaleAt);
  const ticks = long ? Number(header.readBigUInt64BE(scaleAt + 4)) : header.readUInt32BE(scaleAt + 4);
  const unknown = ticks === (long ? 2 ** 64 : 0xffff_ffff);
  return { scale, seconds: unknown || scale === 0 ? 0 : ticks / scale };
}

/** An edit list may show the same piece many times. */
function editSeconds(list: Buffer | undefined, scale: number): number {
  if (list === undefined || list.length < 8 || scale === 0) return 0;
  const row = list[0] === 1 ? 20 : 12;
  const count = Math.min(list.readUInt32BE(4), Math.floor((list.length - 8) / row));
  let ticks = 0;
  for (let at = 8; at < 8 + count * row; at += row)
    ticks += list[0] === 1 ? Number(list.readBigUInt64BE(at)) : list.readUInt32BE(at);
  return ticks / scale;
}
