import { describe, expect, it } from 'vitest';
import type { MeasuredMedium } from '../../../domain/generation/media.ts';
import { wrongMeasured } from '../../../domain/generation/videoMediaRules.ts';
import { type VideoEntry, video } from './models.ts';

const LIMITED: VideoEntry = {
  constraints: {
    reference_image_min_short_side_pixels: 300,
    reference_image_min_aspect_ratio: 0.5,
    reference_image_max_aspect_ratio: 2,
  },
  inputs: { referenceVideoSeconds: 15 },
};

const medium = (more: Partial<MeasuredMedium>): MeasuredMedium => ({
  ...{ role: 'reference_image', index: 0, kind: 'image', sizeBytes: 1, sha256: '', contentType: 'image/png' },
  ...more,
});
const image = (width: number, height: number, index = 0) => medium({ width, height, index });
const clip = (seconds: number, index = 0) =>
  medium({ role: 'reference_video', kind: 'video', contentType: 'video/mp4', seconds, index });

describe('a reference image', () => {
  it.each([
    [300, 300, true],
    [299, 600, false],
    [600, 299, false],
    [300, 600, true],
    [300, 601, false],
    [600, 300, true],
    [601, 300, false],
    [4_000, 3_000, true],
  ])('of %i × %i is accepted: %s', (width, height, isTaken) => {
    const wrong = wrongMeasured(video(LIMITED), [image(width, height)]);
    expect(wrong?.field).toBe(isTaken ? undefined : 'reference_image_urls[0]');
  });

  it.each([
    [1, 1],
    [10_000, 1],
    [1, 10_000],
  ])('of %i × %i is accepted if the model sets no limits', (width, height) => {
    expect(wrongMeasured(video(), [image(width, height)])).toBeUndefined();
  });

  it('is named by its index when it is invalid', () => {
    const wrong = wrongMeasured(video(LIMITED), [image(500, 500), image(10, 10, 1), image(5, 5, 2)]);
    expect(wrong).toMatchObject({ field: 'reference_image_urls[1]' });
    expect(wrong?.message).toContain('300 pixels');
  });

  it('is the only medium to which these limits apply', () => {
    const others = (['image', 'end_image', 'scene_image', 'keyframe'] as const).map((role) =>
      medium({ role, width: 10, height: 10 }),
    );
    expect(wrongMeasured(video(LIMITED), others)).toBeUndefined();
  });
});

describe('reference videos together', () => {
  it.each<[number[], boolean]>([
    [[], true],
    [[15], true],
    [[7.5, 7.5], true],
    [[5, 5, 5.0005], true],
    [[5, 5, 5.1], false],
    [[15.01], false],
  ])('of %j s are accepted: %s', (lengths, areTaken) => {
    const wrong = wrongMeasured(video(LIMITED), lengths.map(clip));
    expect(wrong?.field).toBe(areTaken ? undefined : 'reference_video_urls');
  });

  it('may have any length if the model sets no limit', () => {
    expect(wrongMeasured(video(), [clip(100), clip(200, 1)])).toBeUndefined();
  });
});
