import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { LOCAL_UPSCALE } from '../../../../domain/catalogue/builtin/localVideo.ts';
import type { UpscaleOrder } from '../../../../domain/generation/videoOrder.ts';
import {
  cleaningFilters,
  finishingFilters,
  planUpscale,
  SCALERS,
} from '../../../../providers/local/video/upscaleVideo.ts';
import type { MediaFile } from '../../../../providers/shared/provider.ts';
import { JFK } from '../../../engines/media/recordings.ts';
import { greyOf, loudness, make, removeOutputs, similarity, streamsOf, video } from './videoOrders.ts';

afterAll(removeOutputs);

const moving = (size: string, seconds: number) => ['-f', 'lavfi', '-i', `testsrc2=s=${size}:r=25:d=${seconds}`];
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];
const SOUND = ['-i', JFK, '-shortest', '-c:a', 'aac'];

/** 181 lines: an odd height, which 4:2:0 chroma does not allow. */
const ODD = ['-vf', 'format=yuv444p,crop=322:181:0:0', '-c:v', 'libx264', '-preset', 'ultrafast'];

const measured: MediaFile = {
  ...{ role: 'video', index: 0, kind: 'video', path: '', sizeBytes: 1, sha256: '', contentType: 'video/mp4' },
  ...{ demuxer: 'mov', width: 1280, height: 720, seconds: 10, framesPerSecond: 25, hasAudio: true },
};

describe('a plan', () => {
  it.each<[string, UpscaleOrder, Partial<MediaFile>]>([
    ['an output above 2160 lines', { factor: 4 }, {}],
    ['an output that is too wide', { factor: 2 }, { width: 2200, height: 100 }],
    ['more pixels than are made in one order', { factor: 1, targetFps: 120 }, { seconds: 300 }],
    ['ProRes of minutes', { factor: 1, outputFormat: 'prores' }, { seconds: 300 }],
    ['ProRes in H.264', { factor: 1, outputFormat: 'prores', h264Output: true }, {}],
    ['an unknown enhancement model', { factor: 1, enhancementModel: 'constructor' }, {}],
  ])('refuses %s', (_, order, source) => {
    expect(planUpscale(order, { ...measured, ...source })).toBeTypeOf('string');
  });

  it.each<[UpscaleOrder, number, number, number]>([
    [{ factor: 2 }, 250, 2560, 1440],
    [{ factor: 1, slowdownFactor: 8 }, 2000, 1280, 720],
    [{ factor: 1, slowdownFactor: 2, targetFps: 60 }, 1200, 1280, 720],
    [{ factor: 1, targetFps: 16 }, 160, 1280, 720],
  ])('%j has %i frames of %i by %i', (order, frames, width, height) => {
    expect(planUpscale(order, measured)).toMatchObject({ frames, size: { width, height } });
  });

  it('has a filter for every slider in the catalogue, and none without sliders', () => {
    const none: UpscaleOrder = { factor: 1 };
    expect([...cleaningFilters(none), ...finishingFilters({ ...none, softness: 1 })]).toEqual([]);
    const { sliders = [], models } = LOCAL_UPSCALE.spec.constraints?.topaz ?? { models: [] };
    for (const slider of sliders) {
      const name = slider === 'recover_detail' ? 'recoverDetail' : slider;
      const value = { grain: 0.1, softness: 3 }[name] ?? 0.5;
      const order = { ...none, [name]: value };
      expect([...cleaningFilters(order), ...finishingFilters(order)], slider).toHaveLength(1);
    }
    expect(models).toEqual(Object.keys(SCALERS));
  });
});

describe('an enlarged video', () => {
  it('has the ordered size, and the frames, images and sound of the source', async () => {
    const source = video([...moving('322x182', 2), ...SOUND, ...ODD]);
    const { outcome, path, heartbeats } = await make({ media: [source], upscale: { factor: 2 } });
    expect(outcome).toMatchObject({ status: 'done', output: { contentType: 'video/mp4' } });
    const { video: shown, audio } = streamsOf(path);
    expect(shown).toMatchObject({
      codec: 'h264',
      width: 644,
      height: 362,
      frames: 50,
      pixelFormat: 'yuv420p',
    });
    expect(audio?.codec).toBe('aac');
    expect(similarity(greyOf(path, 30), greyOf(source.path, 30))).toBeGreaterThan(0.95);
    expect(loudness(path, [0.5, 1.5])).toBeCloseTo(loudness(source.path, [0.5, 1.5]), 2);
    expect(heartbeats).toBeGreaterThan(0);
  });

  it('is the same to the byte when repeated, with every slider in use', async () => {
    const source = video([...moving('160x90', 0.4), ...H264]);
    const sliders = { noise: 0.5, compression: 0.7, halo: 0.5, recoverDetail: 0.5, sharp: 0.4, grain: 0.05 };
    const upscale: UpscaleOrder = { factor: 4, softness: 1.5, ...sliders };
    const bytes = async () => readFileSync((await make({ media: [source], upscale })).path);
    const first = await bytes();
    expect(first.equals(await bytes())).toBe(true);
  });

  it('is ProRes in a MOV when ordered so', async () => {
    const source = video([...moving('160x90', 1), ...SOUND, ...H264]);
    const { outcome, path } = await make({ media: [source], upscale: { factor: 2, outputFormat: 'prores' } });
    expect(outcome).toMatchObject({ output: { contentType: 'video/quicktime' } });
    expect(streamsOf(path).video).toMatchObject({ codec: 'prores', width: 320, height: 180, frames: 25 });
  });

  it('slowed down is longer by exactly that factor, in image and sound', async () => {
    const source = video([...moving('160x90', 2), ...SOUND, ...H264]);
    const upscale: UpscaleOrder = { factor: 1, slowdownFactor: 4, targetFps: 30 };
    const { path } = await make({ media: [source], upscale });
    const { video: shown, audio } = streamsOf(path);
    expect(shown).toMatchObject({ frames: 240, seconds: 8 });
    expect(Math.abs((audio?.seconds ?? 0) - 8)).toBeLessThan(0.15);
  });

  it.each([
    ['two frames', 0.08, { factor: 2, slowdownFactor: 8 }, { frames: 16, width: 320 }],
    ['one frame', 0.04, { factor: 2, targetFps: 50 }, { frames: 2, width: 320 }],
  ] as const)('accepts %s only', async (_, seconds, upscale, expected) => {
    const source = video([...moving('160x90', seconds), ...H264], { seconds, framesPerSecond: 25 });
    const { path } = await make({ media: [source], upscale });
    expect(streamsOf(path).video).toMatchObject(expected);
  });

  it('is upright when the header of its source rotates it', async () => {
    const flat = video([...moving('160x90', 0.4), ...H264]);
    const turned = ['-i', flat.path, '-c', 'copy', '-metadata:s:v:0', 'rotate=90'];
    const rotated = video(turned, { width: 90, height: 160 });
    const { path } = await make({ media: [rotated], upscale: { factor: 2 } });
    expect(streamsOf(path).video).toMatchObject({ width: 180, height: 320 });
    const upright = similarity(greyOf(path, 5), greyOf(rotated.path, 5));
    expect(upright).toBeGreaterThan(0.9);
  });

  it('with fewer frames than its source is a failure', async () => {
    const source = video([...moving('160x90', 1), ...H264], { frames: 40 });
    const { outcome } = await make({ media: [source], upscale: { factor: 2 } });
    expect(outcome).toMatchObject({ status: 'refused', reason: 'failed' });
  });

  it('of a file that is not a video is refused', async () => {
    const { outcome } = await make({ media: [{ ...measured, path: JFK }], upscale: { factor: 1 } });
    expect(outcome).toMatchObject({ status: 'refused', reason: 'failed' });
  });
});
