/** Real recordings in every accepted format, encoded from the one fixture. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AUDIO_FORMATS, type AudioFormat } from '../../../domain/catalogue/model.ts';
import { type MeasureOutcome, measureAudio } from '../../../engines/media/measureAudio.ts';
import type { MediaTools } from '../../../engines/media/mediaTools.ts';
import { services } from '../../harness/services.ts';

export const JFK = fileURLToPath(new URL('../../fixtures/jfk.flac', import.meta.url));

export interface Encoding {
  name: string;
  format: AudioFormat;
  extension: string;
  options: readonly string[];
}

export const ENCODINGS: readonly Encoding[] = [
  { name: 'mp3', format: 'mp3', extension: 'mp3', options: ['-c:a', 'libmp3lame', '-b:a', '64k'] },
  { name: 'mp3 vbr', format: 'mp3', extension: 'mp3', options: ['-c:a', 'libmp3lame', '-q:a', '5'] },
  {
    name: 'mp3 bare',
    format: 'mp3',
    extension: 'mp3',
    options: ['-c:a', 'libmp3lame', '-write_xing', '0', '-id3v2_version', '0'],
  },
  { name: 'wav', format: 'wav', extension: 'wav', options: ['-c:a', 'pcm_s16le'] },
  { name: 'wav float', format: 'wav', extension: 'wav', options: ['-c:a', 'pcm_f32le'] },
  { name: 'wav mulaw', format: 'wav', extension: 'wav', options: ['-c:a', 'pcm_mulaw'] },
  { name: 'vorbis', format: 'ogg', extension: 'ogg', options: ['-c:a', 'libvorbis'] },
  { name: 'opus', format: 'ogg', extension: 'opus', options: ['-c:a', 'libopus', '-b:a', '32k'] },
  { name: 'ogg flac', format: 'ogg', extension: 'oga', options: ['-c:a', 'flac'] },
  { name: 'flac', format: 'flac', extension: 'flac', options: ['-c:a', 'flac'] },
  { name: 'm4a', format: 'mp4', extension: 'm4a', options: ['-c:a', 'aac', '-b:a', '64k'] },
  {
    name: 'm4a fast start',
    format: 'mp4',
    extension: 'm4a',
    options: ['-c:a', 'aac', '-movflags', '+faststart'],
  },
  {
    name: 'm4a fragments',
    format: 'mp4',
    extension: 'mp4',
    options: ['-c:a', 'aac', '-movflags', '+frag_keyframe+empty_moov'],
  },
  { name: 'm4a alac', format: 'mp4', extension: 'm4a', options: ['-c:a', 'alac'] },
  { name: 'aac', format: 'aac', extension: 'aac', options: ['-c:a', 'aac', '-b:a', '64k'] },
  { name: 'webm opus', format: 'webm', extension: 'webm', options: ['-c:a', 'libopus', '-b:a', '32k'] },
  { name: 'webm vorbis', format: 'webm', extension: 'webm', options: ['-c:a', 'libvorbis'] },
];

export function mediaTools(): MediaTools {
  const { ffmpegPath, ffprobePath, espeakPath, recogniser } = services();
  return { ffmpegPath, ffprobePath, espeakPath, recogniser, workFolder: tmpdir() };
}

/** Runs the full counts, as `npm test -- --long` does. */
export function isLong(): boolean {
  return process.env.FAREBOX_TEST_LONG === '1';
}

export function testFolder(): string {
  return mkdtempSync(join(tmpdir(), 'farebox-media-'));
}

export interface Wanted {
  folder: string;
  seconds: number;
  sampleRate?: number;
}

/** Encodes this many seconds of real speech. */
export function encode(encoding: Encoding, wanted: Wanted): string {
  const { seconds, sampleRate = 44_100 } = wanted;
  const opus = encoding.options.includes('libopus');
  const path = join(
    wanted.folder,
    `${encoding.name.replace(/ /g, '-')}-${seconds}-${sampleRate}.${encoding.extension}`,
  );
  const filter = `aresample=${opus ? 48_000 : sampleRate},atrim=end_sample=${seconds * (opus ? 48_000 : sampleRate)}`;
  ffmpeg([
    '-stream_loop',
    '-1',
    '-i',
    JFK,
    '-ac',
    '1',
    '-af',
    filter,
    '-map_metadata',
    '-1',
    ...encoding.options,
    path,
  ]);
  return path;
}

export function ffmpeg(options: readonly string[]): void {
  const { status, stderr } = spawnSync(mediaTools().ffmpegPath, ['-v', 'error', '-y', '-nostdin', ...options]);
  if (status !== 0) throw new Error(`ffmpeg: ${stderr}`);
}

export function measure(path: string, maxSeconds = 300): Promise<MeasureOutcome> {
  return measureAudio(mediaTools(), { path, accepted: AUDIO_FORMATS, maxSeconds });
}

/** Code of the refusal of the file at `path`. */
export async function refusal(path: string, maxSeconds = 300): Promise<string> {
  const outcome = await measure(path, maxSeconds);
  return outcome.ok ? `accepted: ${JSON.stringify(outcome.audio)}` : outcome.code;
}
