/** Recordings for the acceptance tests: made here, of any length, in any container. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { toneWav as toneOf } from '../../bench/wav.ts';
import { services } from '../harness/services.ts';

const RATE = 8_000;

/** A tone of 220 Hz at telephone rate, which is small however long it is. */
export function toneWav(seconds: number): Buffer {
  return toneOf(seconds, { sampleRate: RATE, hz: 220, peak: 8_000 });
}

/** What ffmpeg makes with these arguments, as bytes; `extension` decides the container. */
export async function madeByFfmpeg(args: string[], extension: string): Promise<Buffer> {
  const file = path.join(services().folder, `${randomUUID()}.${extension}`);
  await promisify(execFile)(services().ffmpegPath, ['-v', 'error', ...args, '-y', file], { timeout: 60_000 });
  const bytes = await readFile(file);
  await rm(file);
  return bytes;
}
