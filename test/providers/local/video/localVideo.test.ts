import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { LOCAL_VIDEO } from '../../../../domain/catalogue/builtin/localVideo.ts';
import { ASPECT_RATIOS, SHORT_SIDES } from '../../../../providers/local/video/frames.ts';
import { runConversion } from '../../../../providers/local/video/runConversion.ts';
import type { MediaFile } from '../../../../providers/shared/provider.ts';
import { isLong, JFK, mediaTools } from '../../../engines/media/recordings.ts';
import { greyOf, loudness, make, picture, removeOutputs, similarity, streamsOf } from './videoOrders.ts';

afterAll(removeOutputs);

const SMALL = { resolution: '256p', aspectRatio: '16:9', prompt: 'A quiet sea.' } as const;
const LANDSCAPE = 'mandelbrot=s=480x270,format=gray,format=rgb24';
const BARS = 'smptebars=s=480x270,format=gray,format=rgb24';
const CELLS = 'life=s=48x27:random_seed=3,scale=480:270:flags=bilinear,format=gray,format=rgb24';
// Grey, so that no colour conversion changes a frame.
const PATTERN = 'testsrc2=s=480x270,format=gray,format=rgb24';

const voice: MediaFile = {
  ...{ role: 'audio', index: 0, kind: 'audio', sizeBytes: 1, sha256: '', contentType: 'audio/flac' },
  ...{ demuxer: 'flac', seconds: 11, path: JFK },
};

describe('an output', () => {
  it.each([
    ['256p', '16:9', 1, 456, 256],
    ['360p', '9:16', 2, 360, 640],
    ['480p', '1:1', 1, 480, 480],
    ['256p', '21:9', 3, 456, 196],
  ])('of %s and %s for %i s is %i by %i, 24 frames per second, H.264 and AAC', async (...row) => {
    const [resolution, aspectRatio, durationSeconds, width, height] = row;
    const { path, heartbeats } = await make({ ...SMALL, resolution, aspectRatio, durationSeconds });
    const { video, audio, tags } = streamsOf(path);
    const frames = durationSeconds * 24;
    expect(video).toEqual({
      ...{ codec: 'h264', width, height, frames, pixelFormat: 'yuv420p', seconds: durationSeconds },
    });
    expect(audio?.codec).toBe('aac');
    expect(Math.abs((audio?.seconds ?? 0) - durationSeconds)).toBeLessThan(1 / 24);
    expect(tags).not.toHaveProperty('encoder');
    expect(heartbeats).toBeGreaterThan(0);
    const bytes = readFileSync(path);
    expect(bytes.includes('x264')).toBe(false);
    expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'));
  });

  it('is the same to the byte for the same order, and differs for another prompt', async () => {
    const order = { ...SMALL, durationSeconds: 4, prompt: 'Rain over the forest. Night.' };
    const bytes = async (prompt: string) => readFileSync((await make({ ...order, prompt })).path);
    const first = await bytes(order.prompt);
    expect((await bytes(order.prompt)).equals(first)).toBe(true);
    expect((await bytes('Snow over the city.')).equals(first)).toBe(false);
  });

  const SCENES = 'The sea at sunset is calm. Snow falls on the forest. A city in the rain. Stars in space.';
  const LARGE = [
    ['720p', 8],
    ['1080p', 8],
    ['1080p', 30],
  ] as const;
  it.each([['256p', 8], ...(isLong() ? LARGE : [])] as const)(
    'of %s and %i s is complete, whatever the number of its scenes',
    async (resolution, durationSeconds) => {
      const { outcome, path } = await make({ ...SMALL, resolution, durationSeconds, prompt: SCENES });
      expect(outcome).toMatchObject({ status: 'done' });
      const { video, audio } = streamsOf(path);
      expect(video).toMatchObject({ frames: durationSeconds * 24, seconds: durationSeconds });
      expect(Math.abs((audio?.seconds ?? 0) - durationSeconds)).toBeLessThan(1 / 24);
    },
  );

  it('is refused as a failure when its last frame is missing', async () => {
    const graph = 'color=s=64x64:r=24,trim=end_frame=23';
    const path = join(mkdtempSync(join(tmpdir(), 'farebox-short-')), 'short.mp4');
    const conversion = {
      ffmpegPath: mediaTools().ffmpegPath,
      arguments: ['-y', '-f', 'lavfi', '-i', graph, '-c:v', 'libx264', path, '-progress', 'pipe:1'],
      timeoutMs: 60_000,
      maxFileBytes: 1_000_000,
    };
    const context = { workFolder: '', signal: new AbortController().signal, heartbeat: () => undefined };
    const ending = (frames: number) =>
      runConversion(conversion, { context, isWhole: (written) => written.frames === frames });
    expect(await ending(24)).toMatchObject({ status: 'refused', reason: 'failed' });
    expect(await ending(23)).toBeUndefined();
    rmSync(dirname(path), { recursive: true });
  });

  it('has no sound track unless sound is ordered', async () => {
    const { path } = await make({ ...SMALL, durationSeconds: 1, audio: false });
    expect(streamsOf(path).audio).toBeUndefined();
  });

  it('has one of the sizes in the catalogue, and no other', async () => {
    const { resolutions, aspect_ratios } = LOCAL_VIDEO.spec.constraints ?? {};
    expect([...(resolutions ?? [])].sort()).toEqual(Object.keys(SHORT_SIDES).sort());
    expect([...(aspect_ratios ?? [])].sort()).toEqual([...ASPECT_RATIOS, 'auto'].sort());
    const refused = { status: 'refused', reason: 'refused' };
    expect((await make({ ...SMALL, resolution: '8k' })).outcome).toMatchObject(refused);
    expect((await make({ ...SMALL, aspectRatio: '7:5' })).outcome).toMatchObject(refused);
    expect((await make({ ...SMALL, durationSeconds: 31 })).outcome).toMatchObject(refused);
  });

  it('is aborted when the order is cancelled', async () => {
    const controller = new AbortController();
    const making = make({ ...SMALL, resolution: '720p', durationSeconds: 30 }, controller.signal);
    setTimeout(() => controller.abort(new Error('cancelled')), 500);
    await expect(making).rejects.toThrow('cancelled');
  });
});

describe('videos of any text', () => {
  it.each([
    ['filter syntax', "%{pts} ' : \\ \\' [out];drawtext=text=x, $(x) {\\an8}"],
    ['control characters', 'one\u0000\u0007\ntwo\r\n\r\nthree\u2028%%%'],
    ['20,000 characters', 'word '.repeat(4_000)],
    ['one word of 20,000 characters', 'w'.repeat(20_000)],
    ['other scripts and emoji', 'مرحبا بالعالم. שלום עולם! 😀👩‍🚀 日本語。'],
    ['only spaces', '  \n\t  '],
    ['only punctuation', '...!!! --- ;;; :::'],
  ])('%s', async (_, prompt) => {
    const { outcome, path } = await make({ ...SMALL, prompt, durationSeconds: 1, audio: false });
    expect(outcome.status).toBe('done');
    expect(streamsOf(path).video?.frames).toBe(24);
  });
});

describe('an image', () => {
  it('is shown whole in the first frame and moves afterwards', async () => {
    const image = picture('image', LANDSCAPE);
    const { path } = await make({ ...SMALL, durationSeconds: 2, media: [image], audio: false });
    expect(similarity(greyOf(path, 0), greyOf(image.path))).toBeGreaterThan(0.95);
    expect(similarity(greyOf(path, 47), greyOf(image.path))).toBeLessThan(0.9);
  });

  it('shows half of its width when the camera is twice as near', async () => {
    const image = picture('image', LANDSCAPE);
    const cameraTrajectory = [
      { time: 0, azimuth: 0, elevation: 0, distance: 1 },
      { time: 1, azimuth: 0, elevation: 0, distance: 0.5 },
    ];
    const { path } = await make({ ...SMALL, durationSeconds: 1, media: [image], cameraTrajectory });
    expect(similarity(greyOf(path, 23), greyOf(image.path, 0, 'crop=iw/2:ih/2'))).toBeGreaterThan(0.9);
  });

  it('is shown from the direction of the camera', async () => {
    const image = picture('image', LANDSCAPE);
    const cameraTrajectory = [
      { time: 0, azimuth: 0, elevation: 0, distance: 1 },
      { time: 1, azimuth: 90, elevation: 0, distance: 0.5 },
    ];
    const { path } = await make({ ...SMALL, durationSeconds: 1, media: [image], cameraTrajectory });
    const right = greyOf(image.path, 0, 'crop=iw*0.4:ih*0.4:iw*0.4:ih*0.3');
    expect(similarity(greyOf(path, 23), right)).toBeGreaterThan(0.9);
  });

  it("fills the view at the camera's distance, and has a white margin from farther away", async () => {
    const media = [picture('image', 'color=black:s=456x256,format=rgb24')];
    const seen = async (distance: number) => {
      const cameraTrajectory = [
        { time: 0, azimuth: -720, elevation: -90, distance },
        { time: 1, azimuth: 720, elevation: 90, distance },
      ];
      const { path } = await make({ ...SMALL, durationSeconds: 1, media, cameraTrajectory, audio: false });
      return [0, 3, 7, 12, 17, 23].map((frame) => Math.max(...greyOf(path, frame)));
    };
    for (const brightest of await seen(1)) expect(brightest).toBeLessThan(40);
    for (const brightest of await seen(2)) expect(brightest).toBeGreaterThan(215);
  });

  it.each([
    ['one pixel wide', 'mandelbrot=s=4x300,format=rgb24,crop=1:300'],
    ['one pixel high', 'mandelbrot=s=300x4,format=rgb24,crop=300:1'],
    ['portrait', 'mandelbrot=s=200x356,format=rgb24'],
    ['transparent', "color=blue:s=300x200,format=rgba,geq=r=0:g=0:b=200:a='255*lt(X,150)'"],
    ['grey of 16 bits', 'mandelbrot=s=300x170,format=gray16be'],
    ['of one pixel', 'color=red:s=4x4,format=rgb24,crop=1:1'],
  ])('%s becomes a video of the ordered size', async (_, filters) => {
    const media = [picture('image', filters)];
    const { path } = await make({ ...SMALL, durationSeconds: 1, media, audio: false });
    expect(streamsOf(path).video).toMatchObject({ width: 456, height: 256, frames: 24 });
  });

  it('is shown on white where it is transparent', async () => {
    const media = [picture('image', "color=blue:s=456x256,format=rgba,geq=r=0:g=0:b=200:a='255*lt(X,200)'")];
    const { path } = await make({ ...SMALL, durationSeconds: 1, media, audio: false });
    const grey = greyOf(path, 0);
    expect(grey[48 * 96 + 90]).toBeGreaterThan(245);
    expect(grey[48 * 96 + 5]).toBeLessThan(60);
  });

  it('sets the shape of the frame if the order does not', async () => {
    const media = [picture('image', 'mandelbrot=s=300x400,format=rgb24')];
    const { path } = await make({ ...SMALL, aspectRatio: 'auto', durationSeconds: 1, media, audio: false });
    expect(streamsOf(path).video).toMatchObject({ width: 256, height: 342 });
  });
});

describe('several images', () => {
  it('are shown exactly at their key frames, the end image in the last frame', async () => {
    const media = [
      picture('image', LANDSCAPE),
      picture('keyframe', PATTERN),
      picture('keyframe', BARS, { index: 1 }),
      picture('end_image', CELLS),
    ];
    const keyframes = [{ frameIndex: 17 }, { frameIndex: 18 }];
    const { path } = await make({ ...SMALL, durationSeconds: 2, media, keyframes, audio: false });
    for (const [index, frame] of [0, 17, 18, 47].entries()) {
      const source = media[index]?.path ?? '';
      expect(similarity(greyOf(path, frame), greyOf(source)), `frame ${frame}`).toBeGreaterThan(0.93);
    }
    expect(streamsOf(path).video?.frames).toBe(48);
  });

  it('are shown in sequence as scenes and references', async () => {
    const media = [
      picture('reference_image', PATTERN),
      picture('scene_image', BARS, { index: 1 }),
      picture('scene_image', LANDSCAPE),
    ];
    const { path } = await make({ ...SMALL, durationSeconds: 3, media, audio: false });
    for (const [place, source] of [media[2], media[1], media[0]].entries()) {
      const frame = 12 + 24 * place;
      expect(similarity(greyOf(path, frame), greyOf(source?.path ?? '')), `frame ${frame}`).toBeGreaterThan(0.93);
    }
  });

  it('are refused when they contradict each other', async () => {
    const cameraTrajectory = [
      { time: 0, azimuth: 0, elevation: 0, distance: 1 },
      { time: 1, azimuth: 9, elevation: 0, distance: 1 },
    ];
    const [image, end_image] = [picture('image', PATTERN), picture('end_image', PATTERN)];
    const refused = { status: 'refused', reason: 'refused' };
    expect((await make({ ...SMALL, media: [image, end_image], cameraTrajectory })).outcome).toMatchObject(refused);
    expect((await make({ ...SMALL, cameraTrajectory })).outcome).toMatchObject(refused);
    const both = [picture('scene_image', PATTERN), picture('keyframe', PATTERN)];
    expect((await make({ ...SMALL, media: both, keyframes: [{ frameIndex: 3 }] })).outcome).toMatchObject(refused);
  });
});

describe('the sound', () => {
  it('is played from its start, cut to the length and faded out, when the order has one', async () => {
    const { path } = await make({ ...SMALL, durationSeconds: 2, media: [voice] });
    expect(streamsOf(path).audio?.seconds).toBeCloseTo(2, 1);
    expect(loudness(path, [0.4, 1.3])).toBeGreaterThan(0.02);
    expect(loudness(path, [1.97, 2])).toBeLessThan(0.02);
  });

  it('is repeated when it is shorter than the video', async () => {
    const { path } = await make({ ...SMALL, durationSeconds: 14, media: [voice] });
    expect(loudness(path, [11.5, 13])).toBeGreaterThan(0.02);
  });

  it('is generated softly when the order has none, and is never silent or clipped', async () => {
    for (const prompt of ['Rain over the sea.', 'A happy meadow.']) {
      const { path } = await make({ ...SMALL, prompt, durationSeconds: 2 });
      const level = loudness(path, [0.8, 1.2]);
      expect(level).toBeGreaterThan(0.01);
      expect(level).toBeLessThan(0.3);
    }
  });
});
