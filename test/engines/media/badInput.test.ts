import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_TURN_MS, measureStall } from '../../harness/stall.ts';
import { ENCODINGS, type Encoding, encode, ffmpeg, isLong, JFK, measure, refusal, testFolder } from './recordings.ts';

// A test takes seconds, and longer on a busy machine.

const folder = testFolder();
let canary: Server;
let hits = 0;

beforeAll(async () => {
  canary = createServer((_, response) => {
    hits += 1;
    response.end('EXTM3U');
  });
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
});

afterAll(() => {
  canary.close();
  rmSync(folder, { recursive: true });
});

function file(name: string, content: Buffer | string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function made(name: string, ...options: string[]): string {
  const path = join(folder, name);
  ffmpeg([...options, path]);
  return path;
}

const SINE = ['-f', 'lavfi', '-i', 'sine=frequency=220:duration=2'];
const PICTURE = ['-f', 'lavfi', '-i', 'color=red:size=64x64:duration=1', '-frames:v', '1'];

describe('refusals of input that is not a recording', () => {
  it('include an empty file, a byte, noise and text', async () => {
    expect(await refusal(file('empty.mp3', ''))).toBe('invalid_media');
    expect(await refusal(file('byte.mp3', 'x'))).toBe('invalid_media');
    expect(await refusal(file('sync.mp3', Buffer.from([0xff, 0xfb])))).toBe('invalid_media');
    expect(await refusal(file('noise.wav', randomBytes(100_000)))).toBe('invalid_media');
    expect(await refusal(file('text.mp3', 'This is a text.\n'.repeat(1_000)))).toBe('invalid_media');
  });

  it('include a header of one format before the body of another', async () => {
    const page = Buffer.from(`<html><body>${'<p>words</p>'.repeat(2_000)}</body></html>`);
    expect(await refusal(file('page.mp3', Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0]), page])))).toBe(
      'invalid_media',
    );
    const frame = readFileSync(encode(encoding('mp3 bare'), { folder, seconds: 1 })).subarray(0, 1_000);
    expect(await refusal(file('frame.mp3', Buffer.concat([frame, page])))).toBe('invalid_media');
    for (const head of ['fLaC', 'OggS\0\x02', 'RIFF\0\0\0\0WAVE', '\0\0\0\x18ftypM4A ', 'ID3\x03\0\0\0\0\0\0']) {
      const polyglot = Buffer.concat([Buffer.from(head, 'latin1'), page]);
      expect(await refusal(file('polyglot', polyglot)), head).toBe('invalid_media');
    }
  });

  it('include playlists and scripts that name other files, which are not fetched', async () => {
    const url = `http://127.0.0.1:${(canary.address() as AddressInfo).port}/secret`;
    const lists = {
      'list.m3u8': `#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10,\n${url}\n#EXT-X-ENDLIST\n`,
      'concat.mp3': `#EXTM3U\n#EXTINF:10,\nconcat:${url}|file:///etc/passwd\n`,
      'ffconcat.wav': `ffconcat version 1.0\nfile '${url}'\n`,
      'subfile.mp3': `#EXTM3U\n#EXTINF:1,\nsubfile,,start,0,end,64,,:/etc/passwd\n`,
      'dash.mp4': `<?xml version="1.0"?><MPD><Period><BaseURL>${url}</BaseURL></Period></MPD>`,
      'sdp.aac': 'v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=audio 9 RTP/AVP 0\n',
    };
    for (const [name, text] of Object.entries(lists)) {
      expect(await refusal(file(name, text)), name).toBe('invalid_media');
      const behindId3 = Buffer.concat([Buffer.from('ID3\x03\0\0\0\0\0\0', 'latin1'), Buffer.from(text)]);
      expect(await refusal(file(`tagged-${name}`, behindId3)), name).toBe('invalid_media');
    }
    expect(await refusal(file('gab2.avi', subtitledAvi(url)))).toBe('invalid_media');
    expect(hits).toBe(0);
  });

  it('include a video with or without sound, and a file with two sounds; a cover image is no video', async () => {
    const video = ['-f', 'lavfi', '-i', 'testsrc=size=64x64:duration=2'];
    expect(await refusal(made('film.mp4', ...video, ...SINE, '-c:a', 'aac', '-c:v', 'mpeg4'))).toBe('invalid_media');
    expect(await refusal(made('silent.mp4', ...video, '-c:v', 'mpeg4'))).toBe('invalid_media');
    expect(await refusal(made('film.webm', ...video, ...SINE, '-c:v', 'libvpx', '-c:a', 'libopus'))).toBe(
      'invalid_media',
    );
    const twice = ['-map', '0:a', '-map', '1:a', '-c:a', 'aac'];
    expect(await refusal(made('two.m4a', ...SINE, ...SINE, ...twice))).toBe('invalid_media');
    const cover = made('cover.png', ...PICTURE);
    const covered = ['-i', cover, '-map', '0:a', '-map', '1:v', '-c:v', 'copy', '-disposition:v', 'attached_pic'];
    for (const name of ['cover.mp3', 'cover.flac', 'cover.m4a']) {
      expect((await measure(made(name, '-i', JFK, ...covered))).ok, name).toBe(true);
    }
  });

  it('include a format that the model does not accept, under any name', async () => {
    expect(await refusal(made('sound.aiff', ...SINE))).toBe('invalid_media');
    expect(await refusal(made('sound.mka', ...SINE))).toBe('invalid_media');
    const disguised = file('sound.mp3', readFileSync(made('sound.ac3', ...SINE)));
    expect(await refusal(disguised)).toBe('invalid_media');
  });

  it('include impossible sample rates and channel counts', async () => {
    const wav = readFileSync(encode(encoding('wav'), { folder, seconds: 1 }));
    const insane = {
      'rate 0': [24, 0, 4],
      'rate huge': [24, 0xffff_ffff, 4],
      'rate low': [24, 4_000, 4],
      'rate high': [24, 400_000, 4],
      'no channel': [22, 0, 2],
      'many channels': [22, 9, 2],
      'most channels': [22, 0xffff, 2],
    } as const;
    for (const [name, [offset, value, bytes]] of Object.entries(insane)) {
      const patched = Buffer.from(wav);
      patched.writeUIntLE(value, offset, bytes);
      expect(await refusal(file('insane.wav', patched)), name).toBe('invalid_media');
    }
  });
});

describe('the refusal of a cut file', () => {
  for (const each of ENCODINGS) {
    it(`as ${each.name}`, async () => {
      const whole = readFileSync(encode(each, { folder, seconds: 5 }));
      for (const share of isLong() ? [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99] : [0.13, 0.5, 0.9]) {
        const cut = whole.subarray(0, Math.floor(whole.length * share) | 1);
        expect(await refusal(file(`cut.${each.extension}`, cut)), String(share)).toBe('invalid_media');
      }
    });
  }
});

describe('the length limit', () => {
  it('is applied early, and not by the header', async () => {
    const path = long('long.aac');
    expect(await refusal(path, 5)).toBe('media_too_long');
    expect(await refusal(made('six.wav', '-i', JFK, '-t', '7'), 5)).toBe('media_too_long');
    expect((await measure(made('five.wav', '-i', JFK, '-t', '5'), 5)).ok).toBe(true);
  });

  it('covers chained streams and joined files, also of different rates', async () => {
    for (const name of ['vorbis', 'opus', 'mp3', 'mp3 bare', 'aac']) {
      const parts = [16_000, 48_000, 44_100].map((sampleRate) =>
        encode(encoding(name), { folder, seconds: 3, sampleRate }),
      );
      const joined = file(`joined.${name.replace(' ', '-')}`, Buffer.concat(parts.map((part) => readFileSync(part))));
      const outcome = await measure(joined);
      const seconds = outcome.ok ? outcome.audio.decodedSeconds : Number.NaN;
      expect(seconds, `${name} ${JSON.stringify(outcome)}`).toBeGreaterThan(8.95);
      expect(seconds, name).toBeLessThan(9.4);
    }
  });
});

describe('a measurement', () => {
  it('stops at once when it is aborted', async () => {
    const path = long('endless.aac');
    const { measureAudio } = await import('../../../engines/media/measureAudio.ts');
    const { mediaTools } = await import('./recordings.ts');
    const signal = AbortSignal.timeout(300);
    const running = measureAudio(mediaTools(), { path, accepted: ['aac'], maxSeconds: 10_000, signal });
    await expect(running).rejects.toThrow(/timeout/);
  });

  it('without a working ffmpeg is an error, not an invalid file', async () => {
    const { measureAudio } = await import('../../../engines/media/measureAudio.ts');
    const tools = { ffmpegPath: '/nowhere/ffmpeg', ffprobePath: '/nowhere/ffprobe', workFolder: folder };
    const running = measureAudio(tools, { path: JFK, accepted: ['flac'], maxSeconds: 60 });
    await expect(running).rejects.toThrow('ffmpeg could not be run');
  });

  it('survives mutated files without a hang, an exception or an absurd length, and leaves the event loop free', async () => {
    const originals = ENCODINGS.map((each) => readFileSync(encode(each, { folder, seconds: 2, sampleRate: 16_000 })));
    const stall = measureStall();
    let shortestMs = Number.POSITIVE_INFINITY;
    for (let round = 0; round < (isLong() ? 60 : 3); round += 1) {
      stall.reset();
      await Promise.all(originals.map((original, index) => expectSaneOutcome(mutated(original), `${round}-${index}`)));
      // A blocked loop recurs in each round; a garbage collection does not.
      shortestMs = Math.min(shortestMs, stall.longestMs());
    }
    expect(shortestMs).toBeLessThan(MAX_TURN_MS);
    stall.stop();
  });
});

async function expectSaneOutcome(bytes: Buffer, name: string): Promise<void> {
  const outcome = await measure(file(`mutated-${name}`, bytes));
  if (!outcome.ok) return;
  expect(outcome.audio.decodedSeconds).toBeGreaterThan(0);
  expect(outcome.audio.decodedSeconds).toBeLessThan(302);
}

/** Hours of speech. */
function long(name: string): string {
  const part = readFileSync(encode(encoding('aac'), { folder, seconds: 30 }));
  return file(name, Buffer.concat(Array.from({ length: 200 }, () => part)));
}

function mutated(original: Buffer): Buffer {
  const copy = Buffer.from(original);
  const changes = 1 + Math.floor(Math.random() * 8);
  for (let index = 0; index < changes; index += 1) {
    const reach = Math.random() < 0.7 ? Math.min(400, copy.length) : copy.length;
    copy.writeUInt8(Math.floor(Math.random() * 256), Math.floor(Math.random() * reach));
  }
  return copy;
}

function encoding(name: string): Encoding {
  const found = ENCODINGS.find((each) => each.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}

/** An AVI whose subtitle stream is a playlist, a known way to read local files through a transcoder. */
function subtitledAvi(url: string): Buffer {
  const playlist = Buffer.from(`#EXTM3U\n#EXTINF:1,\n${url}\n#EXT-X-ENDLIST\n`);
  const gab2 = Buffer.concat([Buffer.from('GAB2\0\x02\0\0\0\0\0\x04\0'), Buffer.alloc(4), playlist]);
  const chunk = (id: string, body: Buffer) => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(body.length);
    return Buffer.concat([Buffer.from(id), size, body, Buffer.alloc(body.length % 2)]);
  };
  const header = Buffer.concat([Buffer.from('txts'), Buffer.alloc(52)]);
  const stream = chunk(
    'LIST',
    Buffer.concat([Buffer.from('strl'), chunk('strh', header), chunk('strf', Buffer.alloc(40))]),
  );
  const head = chunk('LIST', Buffer.concat([Buffer.from('hdrl'), chunk('avih', Buffer.alloc(56)), stream]));
  const movie = chunk('LIST', Buffer.concat([Buffer.from('movi'), chunk('00tx', gab2)]));
  return chunk('RIFF', Buffer.concat([Buffer.from('AVI '), head, movie]));
}
