import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { toneWav } from '../../../bench/wav.ts';
import { verifyAudio } from '../../../engines/media/measureAudio.ts';
import { smallMp4 } from '../../stubs/smallMedia.ts';
import { ffmpeg } from './recordings.ts';
import { video } from './videoFiles.ts';

const folder = mkdtempSync(join(tmpdir(), 'farebox-verify-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe("a provider's output in WAV", () => {
  const written = (bytes: Buffer) => {
    const path = join(folder, 'answer.wav');
    writeFileSync(path, bytes);
    return verifyAudio(path);
  };
  /** The samples are in its last chunk. */
  const whole = toneWav(0.01);
  const head = Buffer.from(whole.subarray(0, 36));
  head.writeUInt32LE(head.length - 8, 4);

  it('is a recording if it has samples', async () => {
    expect(await written(whole)).toMatchObject({ format: 'wav', contentType: 'audio/wav' });
  });

  it.each([
    ['the chunk of samples is empty', toneWav(0)],
    ['there is no chunk of samples', head],
  ])('is not a recording if %s', async (_case, bytes) => {
    expect(await written(bytes)).toBeUndefined();
  });
});

describe("a provider's output in MP4", () => {
  it('is a recording if it contains only sound', async () => {
    const path = join(folder, 'song.m4a');
    ffmpeg(['-f', 'lavfi', '-i', 'sine=duration=1', '-c:a', 'aac', path]);
    expect(await verifyAudio(path)).toMatchObject({ format: 'mp4', contentType: 'audio/mp4' });
  });

  it('is not a recording if it is a video', async () => {
    const path = video('mp4', { folder, name: 'film', seconds: 1, size: '64x64', rate: 5 });
    expect(await verifyAudio(path)).toBeUndefined();
  });

  it('is not a recording without a track', async () => {
    const path = join(folder, 'hollow.m4a');
    writeFileSync(path, smallMp4('M4A '));
    expect(await verifyAudio(path)).toBeUndefined();
  });
});
