import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { measureVideo, type VideoOutcome, verifyVideo } from '../../../engines/media/measureVideo.ts';
import { longestTurn, MAX_TURN_MS } from '../../harness/stall.ts';
import { isLong, mediaTools, testFolder } from './recordings.ts';
import { avi, made, patched, stretched, VIDEOS, video } from './videoFiles.ts';

// A test takes about a second, and longer on a busy machine.

const folder = testFolder();
const workFolder = join(folder, 'work');
const LIMITS = { maxBytes: 50 * 1024 * 1024, maxSeconds: 15, maxPixels: 4_096 * 2_304 };
const real: Record<string, Buffer> = {};
let canary: Server;
let hits = 0;

beforeAll(async () => {
  mkdirSync(workFolder);
  for (const name of Object.keys(VIDEOS)) real[name] = readFileSync(video(name, { folder, name: `real-${name}` }));
  canary = createServer((_, response) => {
    hits += 1;
    response.end('#EXTM3U');
  });
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  canary.close();
  rmSync(folder, { recursive: true });
});

let files = 0;

function file(content: Buffer | string): string {
  files += 1;
  const path = join(folder, `video-${files}`);
  writeFileSync(path, content);
  return path;
}

function measure(content: Buffer | string, limits: object = {}): Promise<VideoOutcome> {
  const tools = { ...mediaTools(), workFolder };
  return measureVideo(tools, { ...LIMITS, ...limits, path: file(content) });
}

async function measured(content: Buffer, limits: object = {}) {
  const outcome = await measure(content, limits);
  if (!outcome.ok) throw new Error(outcome.message);
  return outcome.video;
}

function whole(name: keyof typeof VIDEOS): Buffer {
  return real[name] ?? Buffer.alloc(0);
}

const SILENT = ['-f', 'lavfi', '-i', 'testsrc2=size=320x240:rate=30:duration=3'];
const TONE = ['-f', 'lavfi', '-i', 'sine=duration=3'];
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];

describe('a video', () => {
  for (const [name, { contentType }] of Object.entries(VIDEOS)) {
    it(`is measured and verified as ${name}`, async () => {
      const found = await measured(whole(name));
      expect(found).toMatchObject({ contentType, width: 320, height: 240, hasAudio: true });
      expect(found.seconds).toBeGreaterThan(2.95);
      expect(found.seconds).toBeLessThan(3.1);
      expect(found.framesPerSecond).toBeCloseTo(30, 0);
      expect(Math.abs(found.frames - 90)).toBeLessThan(2);
      expect(found.audioSeconds).toBeCloseTo(3, 1);
      const verified = await verifyVideo(file(whole(name)));
      expect(verified).toMatchObject({ contentType, width: 320, height: 240, hasAudio: true });
      expect(verified?.seconds).toBeCloseTo(3, 1);
    });
  }

  it('has its displayed size, and reports missing sound', async () => {
    const path = join(folder, 'real-mp4.mp4');
    const turned = made(folder, 'turned.mp4', '-i', path, '-c', 'copy', '-an', '-metadata:s:v', 'rotate=90');
    const size = { width: 240, height: 320, hasAudio: false };
    expect(await measured(turned)).toMatchObject({ ...size, audioSeconds: 0 });
    expect(await verifyVideo(file(turned))).toMatchObject(size);
  });

  it('of a changing frame rate lasts as long as its frames are displayed', async () => {
    const slower = ['-vf', "setpts='if(lt(N,45),N/30,1.5+(N-45)/10)/TB'", '-vsync', 'vfr'];
    const found = await measured(made(folder, 'vfr.mp4', ...SILENT, ...slower, ...H264));
    expect(found.seconds).toBeCloseTo(6, 0);
    expect(found.framesPerSecond).toBeCloseTo(15, 0);
  });

  it('has the longest length that its data or headers state', async () => {
    const path = join(folder, 'real-mp4.mp4');
    const long = ['-f', 'lavfi', '-i', 'sine=duration=9'];
    const sound = made(folder, 'sound.mp4', '-i', path, ...long, '-map', '0:v', '-map', '1:a', '-c:v', 'copy');
    expect((await measured(sound)).seconds).toBeCloseTo(9, 0);
    const header = patched(whole('mp4'), 'mvhd', (copy, at) => copy.writeUInt32BE(12_000, at + 20));
    expect((await measured(header)).seconds).toBe(12);
    const edits = patched(whole('mp4'), 'elst', (copy, at) => copy.writeUInt32BE(11_000, at + 12));
    expect((await measured(edits)).seconds).toBe(11);
    expect((await measured(stretched(whole('mp4'), 4))).seconds).toBeCloseTo(12, 0);
    const lies = patched(whole('mp4'), 'mvhd', (copy, at) => copy.writeUInt32BE(1, at + 20));
    expect((await measured(lies)).seconds).toBeCloseTo(3, 1);
  });

  it('is not cheaper when its header states a tenth of its length', async () => {
    const shorter = ['mvhd', 'mdhd', 'tkhd', 'elst'].reduce(
      (copy, type) =>
        patched(copy, type, (bytes, at) => {
          const field = at + ({ mvhd: 20, mdhd: 20, tkhd: 24, elst: 12 }[type] ?? 0);
          bytes.writeUInt32BE(Math.floor(bytes.readUInt32BE(field) / 10), field);
        }),
      whole('mp4'),
    );
    expect((await measured(shorter)).seconds).toBeGreaterThan(2.95);
  });
});

const half = (content: Buffer, share = 0.5) => content.subarray(0, Math.floor(content.length * share) | 1);
const ZIP = Buffer.from('PK\x03\x04\x14\0\0\0PK\x05\x06', 'latin1');
const PAGE = Buffer.from('<html><script>alert(1)</script></html>'.repeat(40));
const url = () => `http://127.0.0.1:${(canary.address() as AddressInfo).port}/secret`;
const joined = (...parts: Buffer[]) => Buffer.concat(parts);
/** A fragmented file, cut before its first fragment. */
const emptyMovie = () => whole('mp4 fragments').subarray(0, whole('mp4 fragments').indexOf('moof') - 4);
const oneBox = (type: string, body: Buffer) => {
  const head = Buffer.alloc(8, 0);
  head.writeUInt32BE(8 + body.length);
  head.write(type, 4, 'latin1');
  return joined(head, body);
};

/** Two sizes in one stream. */
function changing(): Buffer {
  const parts = ['320x240', '640x480'].map((size) =>
    made(folder, `${size}.h264`, '-f', 'lavfi', '-i', `testsrc2=size=${size}:duration=1`, ...H264),
  );
  writeFileSync(join(folder, 'joined.h264'), joined(...parts));
  return made(folder, 'changing.mkv', '-i', join(folder, 'joined.h264'), '-c', 'copy');
}

function sized(content: Buffer, width: number, height: number): Buffer {
  return patched(content, 'avc1', (copy, at) => {
    copy.writeUInt16BE(width, at + 28);
    copy.writeUInt16BE(height, at + 30);
  });
}

function hugeByHeader(): Buffer {
  return sized(whole('mp4'), 8_192, 8_192);
}

type BadFile = [string, () => Buffer | string, RegExp];

/** Thirty thousand frames in a megabyte, of which a tenth is decoded. */
const MANY_PICTURES: BadFile = [
  'ten thousand pictures a second',
  () => made(folder, 'many.mp4', '-f', 'lavfi', '-i', 'color=size=64x64:rate=10000:duration=3', ...H264),
  /pictures per second/,
];

/** Name, changes to real videos, and the expected refusal. */
const BAD: BadFile[] = [
  ['an empty file', () => '', /invalid_media.*empty/],
  ['a byte', () => 'x', /invalid_media.*not accepted/],
  ['noise', () => randomBytes(100_000), /invalid_media.*not accepted/],
  ['a page', () => PAGE, /invalid_media.*not accepted/],
  ['an HLS playlist', () => `#EXTM3U\n#EXTINF:10,\n${url()}\n`, /invalid_media.*not accepted/],
  ['a list of files', () => `ffconcat version 1.0\nfile '${url()}'\n`, /invalid_media.*not accepted/],
  [
    'a DASH manifest',
    () => `<?xml version="1.0"?><MPD><Period><BaseURL>${url()}</BaseURL></Period></MPD>`,
    /invalid_media.*not accepted/,
  ],
  ['a session description', () => 'v=0\nc=IN IP4 127.0.0.1\nm=video 9 RTP/AVP 96\n', /not accepted/],
  ['an AVI whose subtitle is a playlist', () => avi(url()), /invalid_media.*not accepted/],
  ['a transport stream', () => made(folder, 'a.ts', ...SILENT, ...H264), /not accepted/],
  ['a GIF', () => made(folder, 'a.gif', ...SILENT, '-frames:v', '5'), /not accepted/],
  ['a playlist in a box', () => oneBox('ftyp', Buffer.from(`isom#EXTM3U\n${url()}`)), /truncated/],
  ['sound alone in MP4', () => made(folder, 'a.mp4', ...TONE, '-c:a', 'aac'), /no video track/],
  ['sound alone in Matroska', () => made(folder, 'a.mka', ...TONE, '-c:a', 'libopus'), /no video track/],
  ['sound with a cover picture', () => covered(), /no video track|single picture/],
  ['a single picture', () => made(folder, 'one.mp4', ...SILENT, '-frames:v', '1', ...H264), /single picture/],
  ['two video tracks', () => twice(), /more than one video track/],
  ['no picture', () => emptyMovie(), /invalid_media/],
  ['half an MP4', () => half(whole('mp4')), /truncated/],
  ['nine tenths of an MP4', () => half(whole('mp4'), 0.9), /truncated/],
  ['half a fast starting MP4', () => half(whole('mp4 fast start')), /truncated/],
  ['all but a few bytes of it', () => whole('mp4 fast start').subarray(0, -9), /truncated/],
  ['half a fast starting MP4 with media to its end', () => half(openEnded()), /truncated/],
  ['half of MP4 fragments', () => half(whole('mp4 fragments')), /truncated|damaged/],
  ['half a MOV', () => half(whole('mov hevc')), /truncated/],
  ['half a WebM', () => half(whole('webm vp9')), /truncated/],
  ['a tenth of a live WebM', () => half(whole('webm live'), 0.1), /truncated|damaged|decoded/],
  ['half an MKV', () => half(whole('mkv')), /truncated/],
  ['an MP4 with an archive behind', () => joined(whole('mp4'), ZIP), /not only a video/],
  ['an MP4 with a page behind', () => joined(whole('mp4'), PAGE), /invalid_media/],
  ['a WebM with an archive behind', () => joined(whole('webm vp9'), ZIP, PAGE), /invalid_media/],
  ['a picture of 8k × 8k by its header', hugeByHeader, /picture of the video has more/],
  ['a larger picture than its header says', () => largerThanTold(), /invalid_media/],
  ['a size that changes', changing, /size of the picture changes/],
  ['a thousand pictures a second', () => stretched(whole('mp4'), 0.03), /pictures per second/],
  ...(isLong() ? [MANY_PICTURES] : []),
  [
    'a header of thirty years',
    () => patched(whole('mp4'), 'mvhd', (copy, at) => copy.writeUInt32BE(1e9, at + 20)),
    /media_too_long/,
  ],
  ['pictures that stay for hours', () => stretched(whole('mp4'), 5_000), /media_too_long/],
  ['a longer video', () => readFileSync(longVideo()), /media_too_long/],
  ['a shorter video', () => made(folder, 'short.mp4', ...SILENT, '-t', '1', ...H264), /shorter than 2/],
  ['a codec that nobody sends', () => made(folder, 'f.mkv', ...SILENT, '-c:v', 'ffv1'), /invalid_media/],
  [
    'a sound that cannot be decoded',
    () => made(folder, 'wma.mkv', ...SILENT, ...TONE, ...H264, '-c:a', 'wmav1'),
    /invalid_media/,
  ],
  [
    'a billion samples in its table',
    () => patched(whole('mp4'), 'stsz', (copy, at) => copy.writeUInt32BE(1e9, at + 12)),
    /invalid_media/,
  ],
  [
    'samples that are not where the table says',
    () => patched(whole('mp4 fast start'), 'stco', (copy, at) => copy.fill(0x7f, at + 12, at + 16)),
    /invalid_media/,
  ],
  ['noise where the pictures were', () => noisy(), /invalid_media/],
  ['boxes in boxes without end', () => nested(), /truncated|no video track|damaged/],
];

function covered(): Buffer {
  const cover = join(folder, 'cover.jpg');
  made(folder, 'cover.jpg', ...SILENT, '-frames:v', '1');
  const attached = ['-map', '0:a', '-map', '1:v', '-c:v', 'copy', '-disposition:v', 'attached_pic'];
  return made(folder, 'cover.mp4', ...TONE, '-i', cover, ...attached, '-c:a', 'aac');
}

function twice(): Buffer {
  return made(folder, 'twice.mp4', ...SILENT, ...SILENT, '-map', '0:v', '-map', '1:v', ...H264);
}

/** A media box of size zero extends to the end of the file. */
function openEnded(): Buffer {
  const copy = Buffer.from(whole('mp4 fast start'));
  copy.writeUInt32BE(0, copy.indexOf('mdat') - 4);
  return copy;
}

/** Frames of a video that is too large, under the declared size of another. */
function largerThanTold(): Buffer {
  const large = video('mp4', { folder, name: 'large', size: '4160x2400', rate: 4, seconds: 2 });
  return sized(readFileSync(large), 320, 240);
}

function longVideo(): string {
  return video('mp4', { folder, name: 'long', size: '64x64', seconds: 40, rate: 10 });
}

function noisy(): Buffer {
  const copy = Buffer.from(whole('mp4'));
  const start = copy.indexOf('mdat') + 4;
  randomBytes(copy.indexOf('moov') - 4 - start).copy(copy, start);
  return copy;
}

function nested(): Buffer {
  let body = Buffer.alloc(0);
  for (let depth = 0; depth < 3_000; depth += 1) body = oneBox('moov', body);
  return joined(oneBox('ftyp', Buffer.from('isom')), body);
}

describe('videos that are refused quickly, without a trace on disk', () => {
  for (const [name, make, words] of BAD) {
    it(name, async () => {
      const content = make();
      const outcome = await measure(content, { minSeconds: 2 });
      expect(outcome.ok ? JSON.stringify(outcome) : `${outcome.code}: ${outcome.message}`).toMatch(words);
      expect(outcome.ok).toBe(false);
      expect(readdirSync(workFolder)).toEqual([]);
      expect(hits).toBe(0);
    });
  }

  it('with more bytes than the limit', async () => {
    const outcome = await measure(whole('mp4'), { maxBytes: 100 });
    expect(outcome.ok ? '' : outcome.code).toBe('payload_too_large');
  });
});

describe("a provider's video output", () => {
  it('is refused when it is cut, has bytes after its end, or is no video', async () => {
    for (const name of Object.keys(VIDEOS)) {
      // A live recording has no end that could be missing, unless it is cut inside a chunk.
      for (const share of name === 'webm live' ? [0.001] : [0.2, 0.5, 0.97])
        expect(await verifyVideo(file(half(whole(name), share))), `${name} ${share}`).toBeUndefined();
      expect(await verifyVideo(file(joined(whole(name), ZIP))), name).toBeUndefined();
    }
    for (const content of ['', 'x', PAGE, randomBytes(10_000), emptyMovie().subarray(0, 40)])
      expect(await verifyVideo(file(content))).toBeUndefined();
  });

  it('of half a gigabyte is verified off the event loop', async () => {
    const mp4 = whole('mp4');
    const path = file(mp4);
    const filler = Buffer.alloc(8);
    filler.writeUInt32BE(500 * 1024 * 1024);
    filler.write('free', 4, 'latin1');
    writeFileSync(path, joined(mp4, filler, Buffer.alloc(500 * 1024 * 1024 - 8)));
    const verify = async () => expect(await verifyVideo(path)).toMatchObject({ width: 320 });
    expect(await longestTurn(verify, MAX_TURN_MS)).toBeLessThan(MAX_TURN_MS);
    rmSync(path);
  });
});

describe('the measuring of videos', () => {
  it('leaves the event loop free and survives mutated files', async () => {
    const mutants = Object.keys(VIDEOS).flatMap((name) =>
      Array.from({ length: isLong() ? 40 : 1 }, () => mutated(whole(name))),
    );
    const measureAll = async () => {
      for (const mutant of mutants) {
        const outcome = await measure(mutant);
        if (outcome.ok) expect(outcome.video.seconds).toBeLessThan(15.2);
      }
    };
    expect(await longestTurn(measureAll, MAX_TURN_MS)).toBeLessThan(MAX_TURN_MS);
  });

  it('stops when it is aborted, and without a working ffmpeg is an error, not an invalid video', async () => {
    const request = { ...LIMITS, path: file(whole('mp4')) };
    const aborted = measureVideo(mediaTools(), { ...request, signal: AbortSignal.abort() });
    await expect(aborted).rejects.toThrow(/abort/);
    const nowhere = { ffmpegPath: '/nowhere/ffmpeg', ffprobePath: '/nowhere/ffprobe', workFolder };
    await expect(measureVideo(nowhere, request)).rejects.toThrow('ffmpeg could not be run');
  });
});

function mutated(original: Buffer): Buffer {
  const copy = Buffer.from(original);
  for (let change = 0; change < 8; change += 1) {
    const reach = Math.random() < 0.5 ? Math.min(2_000, copy.length) : copy.length;
    copy.writeUInt8(Math.floor(Math.random() * 256), Math.floor(Math.random() * reach));
  }
  return copy;
}
