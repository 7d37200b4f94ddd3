/** Makes recordings of any length and container for the acceptance tests. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { toneWav as toneOf } from '../../bench/wav.ts';
import { services } from '../harness/services.ts';

const RATE = 8_000;

/** Tone of 220 Hz at telephone rate, which is small at any length. */
export function toneWav(seconds: number): Buffer {
  return toneOf(seconds, { sampleRate: RATE, hz: 220, peak: 8_000 });
}

/** Output of ffmpeg with these arguments. `extension` selects the container. */
export async function madeByFfmpeg(args: string[], extension: string): Promise<Buffer> {
  const file = path.join(services().folder, `${randomUUID()}.${extension}`);
  await promisify(execFile)(services().ffmpegPath, ['-v', 'error', ...args, '-y', file], { timeout: 60_000 });
  const bytes = await readFile(file);
  await rm(file);
  return bytes;
}
