import { describe, expect, it } from 'vitest';
import type { VideoPrice } from '../../../domain/catalogue/model.ts';
import { type MeasuredVideo, priceVideo, type VideoUsage } from '../../../domain/generation/priceVideo.ts';
import { usd, video } from './models.ts';

const SECONDS: VideoPrice = {
  perSecond: { '480p': usd(0.01), any: usd(0.02) },
  silent: { any: usd(0.005) },
};
const HEIGHTS: VideoPrice = {
  perOutputSecond: { '720': usd(0.013), '1080': usd(0.025), '2160': usd(0.1) },
  highFrameRate: { above: 48, factor: 2 },
};
const source = (seconds: number, height: number, framesPerSecond = 24): MeasuredVideo => ({
  seconds,
  height,
  framesPerSecond,
});

describe('the price of a video', () => {
  it.each([
    ['a second at its resolution', SECONDS, { resolution: '480p', durationSeconds: 5 }, undefined, 50_000_000n],
    ['a second at any other', SECONDS, { resolution: '4k', durationSeconds: 5 }, undefined, 100_000_000n],
    ['a silent second', SECONDS, { resolution: '480p', durationSeconds: 5, silent: true }, undefined, 25_000_000n],
    ['a second begun of the source', SECONDS, { resolution: '480p' }, source(4.01, 480), 50_000_000n],
    ['a whole second of an inexact clock', SECONDS, { resolution: '480p' }, source(4.0005, 480), 40_000_000n],
    ['a generation', { perGeneration: { any: usd(0.3) } }, { durationSeconds: 10 }, undefined, 300_000_000n],
    ['the height of the output', HEIGHTS, { upscale: { factor: 2 } }, source(10, 360), 130_000_000n],
    ['the next height from a pixel more', HEIGHTS, { upscale: { factor: 2 } }, source(10, 361), 250_000_000n],
    ['the last height above all', HEIGHTS, { upscale: { factor: 4 } }, source(1, 1_080), 100_000_000n],
    ['a doubled frame rate', HEIGHTS, { upscale: { factor: 1, targetFps: 60 } }, source(10, 720), 260_000_000n],
    ['48 frames as usual', HEIGHTS, { upscale: { factor: 1, targetFps: 48 } }, source(10, 720), 130_000_000n],
    [
      'the rate of the source where none is asked',
      HEIGHTS,
      { upscale: { factor: 1 } },
      source(10, 720, 59.94),
      260_000_000n,
    ],
    [
      'the length of slow motion',
      HEIGHTS,
      { upscale: { factor: 1, slowdownFactor: 4 } },
      source(10, 720),
      520_000_000n,
    ],
  ] satisfies [string, VideoPrice, VideoUsage, MeasuredVideo | undefined, bigint][])(
    'depends on %s',
    (_, price, usage, measured, nano) => {
      expect(priceVideo(video({ price }), usage, measured)?.price).toEqual({ usd: nano, diem: nano });
    },
  );

  it.each([
    ['a resolution without a price', { perSecond: { '480p': usd(1) } }, { resolution: '720p', durationSeconds: 1 }],
    ['a length that nobody knows', SECONDS, { resolution: '480p' }],
    ['a source that was not measured', HEIGHTS, { upscale: { factor: 2 } }],
  ] satisfies [string, VideoPrice, VideoUsage][])('is undefined for %s', (_, price, usage) => {
    expect(priceVideo(video({ price }), usage)).toBe(undefined);
  });

  it('has units and a price per unit that multiply to it', () => {
    const fast = priceVideo(video({ price: HEIGHTS }), { upscale: { factor: 1, targetFps: 60 } }, source(10, 720));
    expect(fast).toMatchObject({ unit: 'second', units: '10', pricePerUnitUsd: 26_000_000n });
  });
});
