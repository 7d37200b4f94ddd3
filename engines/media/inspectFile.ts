/** Runs in the inspection child only: detects the type of a sound file and checks its structure. */
import { readFile, stat } from 'node:fs/promises';
import { fileTypeFromBuffer } from 'file-type';
import type { SoundFormat } from './formats.ts';
import { withFileWindow } from './structure/fileWindow.ts';
import { walkMovie } from './structure/movie.ts';
import { walkMp3 } from './structure/mp3.ts';
import {
  type Structure,
  WHOLE,
  walkAdts,
  walkAiff,
  walkFlac,
  walkMp4,
  walkOgg,
  walkWebm,
} from './structure/structure.ts';
import { walkWav } from './structure/wav.ts';

export interface Inspection {
  /** File type by signature, as its usual extension. Undefined for unknown types. */
  type: string | undefined;
  format: SoundFormat | undefined;
  structure: Structure;
}

/** Larger files are not read into memory. Sources have at most 25 MB. */
const MAX_INSPECTED_BYTES = 64 * 1024 * 1024;

const FORMATS: Record<string, SoundFormat | undefined> = {
  mp3: 'mp3',
  wav: 'wav',
  ogg: 'ogg',
  oga: 'ogg',
  opus: 'ogg',
  spx: 'ogg',
  flac: 'flac',
  mp4: 'mp4',
  m4a: 'mp4',
  m4b: 'mp4',
  m4v: 'mp4',
  f4a: 'mp4',
  aac: 'aac',
  webm: 'webm',
  aif: 'aiff',
};

const WALKS: Record<SoundFormat, (file: Buffer) => Structure> = {
  mp3: walkMp3,
  wav: walkWav,
  ogg: walkOgg,
  flac: walkFlac,
  mp4: walkMp4,
  aac: walkAdts,
  webm: walkWebm,
  aiff: walkAiff,
};

function tracksOf(path: string): { audio: number; video: number } {
  const { audioTracks, videoTracks } = withFileWindow(path, (file) => walkMovie(file, 'mp4'));
  return { audio: audioTracks, video: videoTracks.length };
}

export async function inspectFile(path: string): Promise<Inspection> {
  const { size } = await stat(path);
  if (size > MAX_INSPECTED_BYTES) return { type: undefined, format: undefined, structure: WHOLE };
  const file = await readFile(path);
  const type = (await fileTypeFromBuffer(file))?.ext;
  const format = type === undefined ? undefined : FORMATS[type];
  const structure = format === undefined ? WHOLE : WALKS[format](file);
  return { type, format, structure: format === 'mp4' ? { ...structure, tracks: tracksOf(path) } : structure };
}
