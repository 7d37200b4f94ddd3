import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkVideoFile } from '../../../providers/shared/videoFile.ts';
import { silentMp3 } from '../../stubs/elevenlabsAudio.ts';
import { smallMp4 } from '../../stubs/smallMedia.ts';

let folder: string;
let serial = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-video-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function check(bytes: Buffer) {
  serial += 1;
  const path = join(folder, `file-${serial}`);
  await writeFile(path, bytes);
  return await checkVideoFile(path);
}

const whole = smallMp4();
const webm = (kind: string) => Buffer.concat([Buffer.from('1a45dfa3934282', 'hex'), Buffer.from(kind), whole]);

/** A box with an 8-byte length. */
function longBox(type: string, sizeBytes: bigint, body: Buffer): Buffer {
  const head = Buffer.alloc(16);
  head.writeUInt32BE(1, 0);
  head.write(type, 4, 'latin1');
  head.writeBigUInt64BE(sizeBytes, 8);
  return Buffer.concat([head, body]);
}

/** A file without its own index. */
function withoutIndex(): Buffer {
  return Buffer.concat([whole.subarray(0, 24), whole.subarray(24 - 8 + 80)]);
}

describe('a video file', () => {
  it.each<[string, Buffer, string]>([
    ['MP4', whole, 'video/mp4'],
    ['QuickTime', smallMp4('qt  '), 'video/quicktime'],
    ['QuickTime of old, without brands', whole.subarray(20), 'video/quicktime'],
    ['WebM', webm('webm'), 'video/webm'],
    ['Matroska', webm('matroska'), 'video/x-matroska'],
    ['MP4 with a long box', Buffer.concat([whole, longBox('mdat', 24n, Buffer.alloc(8))]), 'video/mp4'],
    ['MP4 whose last box has no length', Buffer.concat([whole, Buffer.from('\0\0\0\0mdat1234')]), 'video/mp4'],
  ])('is recognised by its structure: %s', async (_what, bytes, contentType) => {
    expect(await check(bytes)).toEqual({ ok: true, contentType, sizeBytes: bytes.length });
  });

  it.each<[string, Buffer, string]>([
    ['an empty file', Buffer.alloc(0), 'the output is empty'],
    ['a page', Buffer.from('<!doctype html><html></html>'), 'the output is not video'],
    ['one byte', Buffer.from('x'), 'the output is not video'],
    ['MP3', silentMp3(1), 'the output is not video'],
    ['sound in MP4', smallMp4('M4A '), 'the output is not video'],
    ['a picture', smallMp4('avif'), 'the output is not video'],
    ['half an MP4', whole.subarray(0, whole.length / 2), 'the output is cut off'],
    ['an MP4 that lacks a byte', whole.subarray(0, -1), 'the output is cut off'],
    ['an MP4 and three bytes', Buffer.concat([whole, Buffer.alloc(3)]), 'the output is cut off'],
    ['an MP4 without an index', withoutIndex(), 'the output is cut off'],
    [
      'a box that is shorter than its head',
      Buffer.concat([whole, Buffer.from('\0\0\0\x04mdat')]),
      'the output is cut off',
    ],
    ['a box without end', Buffer.concat([whole, longBox('mdat', 2n ** 63n, Buffer.alloc(0))]), 'the output is cut off'],
    ['endless boxes', Buffer.concat([whole, Buffer.from('\0\0\0\x08free'.repeat(30_000))]), 'the output is cut off'],
  ])('is not %s', async (_what, bytes, detail) => {
    expect(await check(bytes)).toEqual({ ok: false, detail });
  });
});
