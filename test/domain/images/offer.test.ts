/** Terms that an order gets from an image model. */
import { describe, expect, it } from 'vitest';
import type { InpaintSpec } from '../../../domain/catalogue/specs.ts';
import {
  aspectRatioOf,
  chooseTier,
  mostInputImages,
  qualityOf,
  resolutionOfSize,
  scaleWithin,
  usualFormat,
  wrongAspectRatio,
  wrongCount,
  wrongPrompt,
} from '../../../domain/images/offer.ts';

const tiered: InpaintSpec = {
  constraints: {
    aspectRatios: ['auto', '1:1', '16:9', '9:16'],
    promptCharacterLimit: 10,
    resolutions: ['1K', '2K'],
    qualities: ['low', 'medium'],
  },
};
const lenient = { strict: false };
const strict = { strict: true };
const none = { resolution: undefined, quality: undefined };

describe("the form of OpenAI's clients", () => {
  const offering = (...qualities: ('low' | 'medium' | 'high')[]) => ({ constraints: { qualities } });

  it.each([
    ['hd', offering('low', 'high'), 'high'],
    ['hd', offering('low', 'medium'), 'medium'],
    ['standard', offering('low', 'medium', 'high'), 'medium'],
    ['standard', offering('low', 'high'), 'low'],
    ['standard', offering('high'), 'high'],
    ['standard', offering(), undefined],
    ['low', offering('low', 'high'), 'low'],
    ['auto', offering('low', 'high'), undefined],
    [null, offering('low', 'high'), undefined],
    [undefined, offering('low', 'high'), undefined],
  ] as const)('translates the quality %s for %j into %s', (wished, spec, expected) => {
    expect(qualityOf(spec, wished)).toBe(expected);
  });

  it.each([
    ['the tier 1K for a size', { constraints: { resolutions: ['1K', '2K'], defaultResolution: '2K' } }, true, '1K'],
    ['the default without a size', { constraints: { resolutions: ['1K', '2K'] } }, false, undefined],
    ['the default where 1K is missing', { constraints: { resolutions: ['2K', '4K'] } }, true, undefined],
    ['no tier where there is none', {}, true, undefined],
  ])('chooses %s', (_name, spec, hasSize, expected) => {
    expect(resolutionOfSize(spec, hasSize ? { width: 1_792, height: 1_024 } : undefined)).toBe(expected);
  });
});

describe('a tier', () => {
  it.each([
    ['what was not named is 1K and the best', tiered, none, { ok: true, resolution: '1K', quality: 'medium' }],
    [
      'what was named counts',
      tiered,
      { resolution: '2K', quality: 'low' as const },
      { ok: true, resolution: '2K', quality: 'low' },
    ],
    [
      'an unknown resolution is refused',
      tiered,
      { ...none, resolution: '8K' },
      { ok: false, field: 'resolution', message: 'Must be one of: 1K, 2K' },
    ],
    [
      'a quality that the model lacks is refused',
      tiered,
      { ...none, quality: 'high' as const },
      { ok: false, field: 'quality', message: 'Must be one of: low, medium' },
    ],
    [
      'a model without tiers drops them',
      {},
      { resolution: '4K', quality: 'high' as const },
      { ok: true, resolution: undefined, quality: undefined },
    ],
  ])('%s', (_name, spec, wished, expected) => {
    expect(chooseTier(spec, wished, lenient)).toMatchObject(expected);
  });

  it('is refused for an ordered resolution if the model has none', () => {
    expect(chooseTier({}, { ...none, resolution: '1K' }, strict)).toMatchObject({
      ok: false,
      field: 'resolution',
    });
  });
});

describe('an aspect ratio', () => {
  it.each([
    [{ width: 1920, height: 1080 }, '16:9'],
    [{ width: 1000, height: 1000 }, '1:1'],
    [{ width: 1000, height: 1300 }, '1:1'],
    [{ width: 1000, height: 1400 }, '9:16'],
    [{ width: 10, height: 900 }, '9:16'],
  ])('of auto is the nearest one of the model: %o', (size, expected) => {
    expect([aspectRatioOf(tiered, 'auto', size), aspectRatioOf(tiered, undefined, size)]).toEqual([expected, expected]);
  });

  it('is used if listed, refused if unknown, and left unchanged by a model that lists none', () => {
    const size = { width: 5, height: 5 };
    expect(aspectRatioOf(tiered, '9:16', size)).toBe('9:16');
    expect(wrongAspectRatio(tiered, '21:9')).toMatchObject({ field: 'aspect_ratio' });
    expect([wrongAspectRatio(tiered, 'auto'), wrongAspectRatio({}, '21:9'), aspectRatioOf({}, 'auto', size)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

it('limits an edit to three images unless the model states another number', () => {
  expect([mostInputImages({}), mostInputImages({ constraints: { combineImages: false, maxInputImages: 5 } })]).toEqual([
    3, 1,
  ]);
  expect(mostInputImages({ capabilities: { maxInputImages: 10 } })).toBe(10);
  expect(wrongCount({}, 4)).toMatchObject({ field: 'images', message: 'At most 3 images for this model' });
  expect(wrongCount({}, 3)).toBeUndefined();
});

it('limits a prompt to the characters of the model', () => {
  expect([wrongPrompt(tiered, '0123456789'), wrongPrompt({}, 'x'.repeat(32_768))]).toEqual([undefined, undefined]);
  expect(wrongPrompt(tiered, '0123456789a')).toMatchObject({ field: 'prompt' });
});

it('returns small results as PNG, and large ones as JPEG', () => {
  expect([undefined, '1K', '2K', '4K'].map(usualFormat)).toEqual(['png', 'png', 'jpeg', 'jpeg']);
});

it('limits an upscale to 16,777,216 pixels', () => {
  expect(scaleWithin(4, { width: 512, height: 512 })).toBe(4);
  expect(scaleWithin(4, { width: 2048, height: 2048 })).toBe(2);
  expect(scaleWithin(2, { width: 8000, height: 8000 })).toBe(1);
});
