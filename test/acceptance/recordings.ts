/** Recordings for the acceptance tests: made here, of any length, in any container. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { services } from '../harness/services.ts';

const RATE = 8_000;

/** A tone of 220 Hz as 16-bit mono PCM in a WAV of 8 kHz. */
export function toneWav(seconds: number): Buffer {
  const samples = Math.round(seconds * RATE);
  const wav = Buffer.alloc(44 + samples * 2);
  wav.write('RIFF', 0, 'latin1');
  wav.writeUInt32LE(36 + samples * 2, 4);
  wav.write('WAVEfmt ', 8, 'latin1');
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(RATE, 24);
  wav.writeUInt32LE(RATE * 2, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36, 'latin1');
  wav.writeUInt32LE(samples * 2, 40);
  for (let index = 0; index < samples; index += 1) {
    wav.writeInt16LE(Math.round(8_000 * Math.sin((2 * Math.PI * 220 * index) / RATE)), 44 + index * 2);
  }
  return wav;
}

/** What ffmpeg makes with these arguments, as bytes; `extension` decides the container. */
export async function madeByFfmpeg(args: string[], extension: string): Promise<Buffer> {
  const file = path.join(services().folder, `${randomUUID()}.${extension}`);
  await promisify(execFile)(services().ffmpegPath, ['-v', 'error', ...args, '-y', file], { timeout: 60_000 });
  const bytes = await readFile(file);
  await rm(file);
  return bytes;
}
