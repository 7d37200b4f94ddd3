/** What is no recording, or not one that can be taken: the documented refusal, no charge, nothing asked of the service. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { measureStall } from '../../harness/stall.ts';
import { ENCODINGS, type Encoding, encode, ffmpeg, JFK, testFolder } from '../../infra/media/recordings.ts';
import { spoofs } from '../../infra/media/spoofs.ts';
import { type SpeechWorld, startSpeechWorld } from './speechWorld.ts';

vi.setConfig({ testTimeout: 120_000 });

const folder = testFolder();
let world: SpeechWorld;
let canary: Server;
let hits = 0;

beforeAll(async () => {
  world = await startSpeechWorld();
  canary = createServer((_, response) => {
    hits += 1;
    response.end('EXTM3U');
  });
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
});
beforeEach(() => world.reset());
afterAll(async () => {
  await world.close();
  canary.close();
  rmSync(folder, { recursive: true });
});

interface Bad {
  bytes: Buffer | string;
  name?: string;
  type?: string;
  fields?: Record<string, string>;
}

async function send({ bytes, name = 'file.mp3', type = '', fields = {} }: Bad) {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.set(field, value);
  form.set('file', new Blob([bytes], { type }), name);
  const response = await world.api.call('/audio/transcriptions', {
    ...{ method: 'POST', body: form, key: world.key },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function expectRefused(bad: Bad, status: number, words: RegExp): Promise<void> {
  const before = await world.spent();
  const { status: told, body } = await send(bad);
  expect([told, body.error]).toEqual([status, expect.stringMatching(words)]);
  expect([await world.spent(), await world.held(), world.asked]).toEqual([before, 0, []]);
}

function encoding(name: string): Encoding {
  const found = ENCODINGS.find((each) => each.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}

const whole = (name: string, seconds = 3) => readFileSync(encode(encoding(name), { folder, seconds }));
function made(name: string, ...options: string[]): Buffer {
  const path = join(folder, name);
  ffmpeg([...options, path]);
  return readFileSync(path);
}

const PAGE = Buffer.from(`<html><body>${'<p>words</p>'.repeat(2_000)}</body></html>`);
const ID3 = Buffer.from('ID3\x03\0\0\0\0\0\0', 'latin1');
const SINE = ['-f', 'lavfi', '-i', 'sine=frequency=220:duration=2'];
const VIDEO = ['-f', 'lavfi', '-i', 'testsrc=size=64x64:duration=2'];
const after = (head: string, body: Buffer | string) =>
  Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]);
const url = () => `http://127.0.0.1:${(canary.address() as AddressInfo).port}/secret`;

/** A WAV whose head says so many channels, or such a rate. */
function insane(offset: number, value: number, bytes: number): Buffer {
  const wav = Buffer.from(whole('wav'));
  wav.writeUIntLE(value, offset, bytes);
  return wav;
}

const CUT = ENCODINGS.map((each) => {
  const bytes = () => whole(each.name);
  return [`${each.name}, cut`, () => ({ bytes: partOf(bytes()) })] as [string, () => Bad];
});

function partOf(bytes: Buffer): Buffer {
  return bytes.subarray(0, Math.floor(bytes.length * 0.43) | 1);
}

const NOT_SOUND: [string, () => Bad][] = [
  ['nothing', () => ({ bytes: '' })],
  ['a byte', () => ({ bytes: 'x' })],
  ['two bytes of an MP3', () => ({ bytes: Buffer.from([0xff, 0xfb]) })],
  ['noise', () => ({ bytes: randomBytes(100_000), name: 'noise.wav' })],
  ['zeros', () => ({ bytes: Buffer.alloc(100_000), name: 'zeros.flac' })],
  ['a text named .mp3', () => ({ bytes: 'This is a text.\n'.repeat(1_000) })],
  ['a text of audio type', () => ({ bytes: 'This is a text.\n', type: 'audio/wav' })],
  ['a page behind an MP3 frame', () => ({ bytes: after('\xff\xfb\x90\0', PAGE) })],
  ['a page behind an ID3 tag', () => ({ bytes: Buffer.concat([ID3, PAGE]) })],
  ['a page behind fLaC', () => ({ bytes: after('fLaC', PAGE), name: 'a.flac' })],
  ['a page behind OggS', () => ({ bytes: after('OggS\0\x02', PAGE), name: 'a.ogg' })],
  ['a page behind RIFF', () => ({ bytes: after('RIFF\0\0\0\0WAVE', PAGE), name: 'a.wav' })],
  ['a page behind ftyp', () => ({ bytes: after('\0\0\0\x18ftypM4A ', PAGE), name: 'a.m4a' })],
  [
    'an MP3 that becomes a page',
    () => ({ bytes: Buffer.concat([whole('mp3 bare').subarray(0, 1_000), PAGE]) }),
  ],
  ['a WAV of no frames', () => ({ bytes: made('none.wav', ...SINE, '-t', '0'), name: 'none.wav' })],
  ['a FLAC of no frames', () => ({ bytes: whole('flac').subarray(0, 42), name: 'none.flac' })],
  ['255 channels', () => ({ bytes: insane(22, 255, 2), name: 'a.wav' })],
  ['no channel', () => ({ bytes: insane(22, 0, 2), name: 'a.wav' })],
  ['a rate of 0', () => ({ bytes: insane(24, 0, 4), name: 'a.wav' })],
  ['a rate of 4 GHz', () => ({ bytes: insane(24, 0xffff_ffff, 4), name: 'a.wav' })],
  ['an AIFF', () => ({ bytes: made('sound.aiff', ...SINE), name: 'a.wav' })],
  ['a Matroska', () => ({ bytes: made('sound.mka', ...SINE), name: 'a.webm' })],
  ['an AC-3 named .mp3', () => ({ bytes: made('sound.ac3', ...SINE) })],
  ['a silent video', () => ({ bytes: made('silent.mp4', ...VIDEO, '-c:v', 'mpeg4'), name: 'a.mp4' })],
  [
    'two sounds',
    () => ({ bytes: made('two.m4a', ...SINE, ...SINE, '-map', '0:a', '-map', '1:a', '-c:a', 'aac') }),
  ],
  [
    'a picture',
    () => ({ bytes: made('red.png', '-f', 'lavfi', '-i', 'color=red:size=9x9', '-frames:v', '1') }),
  ],
  ['a ZIP', () => ({ bytes: after('PK\x03\x04', randomBytes(1_000)), name: 'a.wav' })],
  ['a PDF', () => ({ bytes: after('%PDF-1.7\n', randomBytes(1_000)) })],
  [
    'a playlist',
    () => ({ bytes: `#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10,\n${url()}\n#EXT-X-ENDLIST\n` }),
  ],
  [
    'a playlist behind a tag',
    () => ({ bytes: after(ID3.toString('latin1'), `#EXTM3U\n#EXTINF:9,\n${url()}\n`) }),
  ],
  ['a concat', () => ({ bytes: `#EXTM3U\n#EXTINF:10,\nconcat:${url()}|file:///etc/passwd\n` })],
  ['an ffconcat', () => ({ bytes: `ffconcat version 1.0\nfile '${url()}'\n`, name: 'a.wav' })],
  ['a subfile', () => ({ bytes: '#EXTM3U\n#EXTINF:1,\nsubfile,,start,0,end,64,,:/etc/passwd\n' })],
  [
    'a DASH list',
    () => ({ bytes: `<?xml version="1.0"?><MPD><BaseURL>${url()}</BaseURL></MPD>`, name: 'a.mp4' }),
  ],
  ['an SDP', () => ({ bytes: 'v=0\nc=IN IP4 127.0.0.1\nm=audio 9 RTP/AVP 0\n', name: 'a.aac' })],
  ['an AVI with a playlist for subtitles', () => ({ bytes: subtitledAvi(url()), name: 'a.mp4' })],
];

describe('refused as no recording, 400:', () => {
  it.each([...NOT_SOUND, ...CUT])('%s', async (_name, bad) => {
    await expectRefused(bad(), 400, /audio|file|video/i);
    expect(hits).toBe(0);
  });
});

describe('refused for what its sender says it is, 400:', () => {
  it.each<[string, Partial<Bad>]>([
    ['a picture by its type', { name: 'a.png', type: 'image/png' }],
    ['a text by its name', { name: 'a.txt' }],
    ['a page by both', { name: 'a.html', type: 'text/html; charset=utf-8' }],
    ['a program', { name: 'a.exe', type: 'application/x-msdownload' }],
  ])('%s', async (_name, more) => {
    await expectRefused({ bytes: readFileSync(JFK), ...more }, 400, /no known audio type/);
  });
});

describe('refused for its form, 400:', () => {
  it.each<[string, Record<string, string>, RegExp]>([
    ['a format of the answer that there is not', { response_format: 'srt' }, /Invalid request/],
    ['the verbose form', { response_format: 'verbose_json' }, /Invalid request/],
    ['timestamps that are no boolean', { timestamps: 'yes' }, /Invalid request/],
    ['a language that is none', { language: 'english' }, /Invalid request/],
    ['an empty model', { model: '' }, /model is required/],
    ['a model of another kind', { model: 'tts-kokoro' }, /Invalid request/],
  ])('%s', async (_name, fields, words) => {
    await expectRefused({ bytes: readFileSync(JFK), name: 'jfk.flac', fields }, 400, words);
  });

  it('no file, a field in its place, another kind of body, no body', async () => {
    const empty = new FormData();
    empty.set('model', 'openai/whisper-large-v3');
    const json = { 'content-type': 'application/json' };
    const inits = [{ body: empty }, { body: '{"file":"x"}', headers: json }, {}];
    for (const init of inits) {
      const response = await world.api.call('/audio/transcriptions', {
        ...{ method: 'POST', key: world.key, ...init },
      });
      expect([response.status, await response.json()]).toEqual([400, { error: 'No audio file provided' }]);
    }
  });
});

describe('refused for its size or length:', () => {
  it('more than 25 MB is 413', async () => {
    const before = await world.spent();
    const { status, body } = await send({ bytes: Buffer.alloc(25 * 1024 * 1024 + 1), name: 'a.wav' });
    expect([status, body]).toEqual([
      413,
      { code: 'PAYLOAD_TOO_LARGE', error: 'File exceeds the maximum allowed size of 25 MB.' },
    ]);
    expect(await world.spent()).toEqual(before);
  });

  it('six hours of silence at 8 kbps are 422, soon, and the event loop goes on', async () => {
    const hour = made('hour.mp3', ...silence(600), '-c:a', 'libmp3lame', '-b:a', '8k', '-write_xing', '0');
    const bytes = Buffer.concat(Array.from({ length: 36 }, () => hour));
    expect(bytes.length).toBeLessThan(25 * 1024 * 1024);
    const stall = measureStall();
    const startedAt = performance.now();
    await expectRefused({ bytes }, 422, /longer than 7200 seconds/);
    expect(performance.now() - startedAt).toBeLessThan(60_000);
    expect(stall.longestMs()).toBeLessThan(250);
    stall.stop();
  });
});

it('a length that is told wrongly changes no bill', async () => {
  for (const name of ['wav', 'flac', 'm4a', 'webm opus', 'vorbis', 'mp3']) {
    const original = whole(name);
    for (const { field, file } of spoofs(encoding(name), original, 'shorter')) {
      const { status, body } = await send({ bytes: file, name: `a.${encoding(name).extension}` });
      const words = `${name} ${field} ${JSON.stringify(body)}`;
      expect([200, 400], words).toContain(status);
      if (status === 200) expect(body.duration, words).toBeGreaterThanOrEqual(2.98);
    }
  }
});

it('leaves nothing behind', async () => {
  await expect.poll(() => readdirSync(world.api.opened.folders.root)).toEqual([]);
});

function silence(seconds: number): string[] {
  return ['-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono', '-t', String(seconds)];
}

/** An AVI whose subtitle stream is a playlist: how local files were once read through a transcoder. */
function subtitledAvi(address: string): Buffer {
  const playlist = Buffer.from(`#EXTM3U\n#EXTINF:1,\n${address}\n#EXT-X-ENDLIST\n`);
  const gab2 = Buffer.concat([Buffer.from('GAB2\0\x02\0\0\0\0\0\x04\0'), Buffer.alloc(4), playlist]);
  const chunk = (id: string, body: Buffer) => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(body.length);
    return Buffer.concat([Buffer.from(id), size, body, Buffer.alloc(body.length % 2)]);
  };
  return chunk('RIFF', Buffer.concat([Buffer.from('AVI '), chunk('00tx', gab2)]));
}
