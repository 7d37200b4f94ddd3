import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkVideoFile } from '../../providers/videoFile.ts';
import { silentMp3, testWav } from '../stubs/elevenlabsAudio.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-video-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function check(bytes: Buffer) {
  const path = join(folder, 'video');
  await writeFile(path, bytes);
  return await checkVideoFile(path);
}

const box = (type: string, rest = '') =>
  Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from(type + rest)]);
const ebml = (docType: string) =>
  Buffer.concat([Buffer.from('1a45dfa3', 'hex'), Buffer.from(`\x9fB\x82\x84${docType}`, 'latin1')]);

describe('the container of an output', () => {
  it.each([
    ['video/mp4', box('ftyp', 'isom\0\0\x02\0')],
    ['video/mp4', box('ftyp', 'mp42\0\0\0\0')],
    ['video/quicktime', box('ftyp', 'qt  \0\0\0\0')],
    ['video/quicktime', box('moov', '\0\0\0\x6cmvhd')],
    ['video/webm', ebml('webm')],
    ['video/x-matroska', ebml('matroska')],
  ])('is %s by its first bytes', async (contentType, bytes) => {
    expect(await check(bytes)).toEqual({ ok: true, contentType, sizeBytes: bytes.length });
  });

  it.each([
    ['empty', Buffer.alloc(0)],
    ['one byte', Buffer.from([0])],
    ['a page', Buffer.from('<!doctype html><html>')],
    ['JSON', Buffer.from('{"ftyp": "mp4"}')],
    ['zeros', Buffer.alloc(100)],
    ['an MP3 file', silentMp3(1)],
    ['a WAV file', testWav(1)],
    ['an MP4 file that holds sound only', box('ftyp', 'M4A \0\0\0\0')],
    ['of an unknown kind of Matroska', ebml('else')],
    ['a picture', Buffer.from('89504e470d0a1a0a', 'hex')],
  ])('is no video when the file is %s', async (_, bytes) => {
    expect(await check(bytes)).toMatchObject({ ok: false });
  });
});
