import { describe, expect, it } from 'vitest';
import type { ImageSpec } from '../../../domain/catalogue/specs.ts';
import { sizeOf, type WishedImages, wrongImages } from '../../../domain/images/generation.ts';
import { IMAGE_STYLES } from '../../../domain/images/styles.ts';

const PRICE = { usd: 0.01, diem: 0.01 };
const spec = (more: Partial<ImageSpec> = {}): ImageSpec => ({ pricing: { generation: PRICE }, ...more });
const wish = (more: Partial<WishedImages> = {}): WishedImages => ({
  prompt: 'a tram',
  styleReferences: 0,
  ...more,
});

describe('an order of images', () => {
  it.each<[string, ImageSpec, Partial<WishedImages>]>([
    ['words alone', spec(), {}],
    ['a prompt as long as is usual', spec(), { prompt: 'a'.repeat(7_500) }],
    ['a prompt as long as the model takes', spec({ constraints: { promptCharacterLimit: 6 } }), {}],
    ['any ratio where the model names none', spec(), { aspectRatio: '7:5' }],
    ['a ratio of the model', spec({ constraints: { aspectRatios: ['1:1', '3:2'] } }), { aspectRatio: '3:2' }],
    ['a size of the divisor', spec({ constraints: { widthHeightDivisor: 16 } }), { width: 1_024, height: 512 }],
    ['half a size', spec({ constraints: { widthHeightDivisor: 16 } }), { width: 1_024 }],
    ['as many steps as there are', spec({ constraints: { steps: { default: 20, max: 30 } } }), { steps: 30 }],
    ['any steps where the model sets no limit', spec(), { steps: 1_000 }],
    ['one style reference', spec({ supportsStyleReferences: true }), { styleReferences: 1 }],
    [
      'as many style references as the model takes',
      spec({ supportsStyleReferences: true, constraints: { maxStyleReferences: 4 } }),
      { styleReferences: 4 },
    ],
  ])('is accepted with %s', (_what, entry, wished) => {
    expect(wrongImages(entry, wish(wished))).toBeUndefined();
  });

  it.each<[string, ImageSpec, Partial<WishedImages>, string]>([
    ['a prompt that is too long', spec(), { prompt: 'a'.repeat(7_501) }, 'prompt'],
    ['a prompt too long for the model', spec({ constraints: { promptCharacterLimit: 5 } }), {}, 'prompt'],
    ['too much of what not to show', spec(), { negativePrompt: 'a'.repeat(7_501) }, 'negative_prompt'],
    ['a ratio of others', spec({ constraints: { aspectRatios: ['1:1'] } }), { aspectRatio: '3:2' }, 'aspect_ratio'],
    ['a ratio of a model without', spec({ constraints: { aspectRatios: [] } }), { aspectRatio: '1:1' }, 'aspect_ratio'],
    ['a width off the divisor', spec({ constraints: { widthHeightDivisor: 16 } }), { width: 1_000 }, 'width'],
    ['a height off the divisor', spec({ constraints: { widthHeightDivisor: 16 } }), { width: 16, height: 8 }, 'height'],
    ['a step too many', spec({ constraints: { steps: { default: 20, max: 30 } } }), { steps: 31 }, 'steps'],
    ['a style reference that nobody takes', spec(), { styleReferences: 1 }, 'style_references'],
    [
      'a style reference of a model that only names a number',
      spec({ constraints: { maxStyleReferences: 4 } }),
      { styleReferences: 1 },
      'style_references',
    ],
    ['two where one is usual', spec({ supportsStyleReferences: true }), { styleReferences: 2 }, 'style_references'],
    [
      'one more than the model takes',
      spec({ supportsStyleReferences: true, constraints: { maxStyleReferences: 4 } }),
      { styleReferences: 5 },
      'style_references',
    ],
  ])('is refused by name with %s', (_what, entry, wished, field) => {
    expect(wrongImages(entry, wish(wished))).toMatchObject({ ok: false, field });
  });
});

describe('the size of an image', () => {
  const SHAPED = spec({ constraints: { aspectRatios: ['1:1'] } });
  const TIERED: ImageSpec = { pricing: { resolutions: { '1K': PRICE } } };
  const TIERED_BY_CHOICE = spec({ constraints: { resolutions: ['1K'] } });

  it.each([
    ['is the usual one', spec(), {}, [1_024, 1_024]],
    ['is the one that was asked for', spec(), { width: 640, height: 480 }, [640, 480]],
    ['is completed by the usual side', spec(), { width: 640 }, [640, 1_024]],
    ['is completed by the usual side above', spec(), { height: 640 }, [1_024, 640]],
    ['is left to a model of ratios', SHAPED, {}, undefined],
    ['is left to a model of resolutions', TIERED, {}, undefined],
    ['is left to a model with a choice of resolutions', TIERED_BY_CHOICE, {}, undefined],
    ['is left to the ratio that was asked for', spec(), { aspectRatio: '3:2' }, undefined],
    ['counts all the same where it was asked for', SHAPED, { width: 512, height: 512 }, [512, 512]],
    ['counts before the ratio', TIERED, { aspectRatio: '3:2', width: 600, height: 400 }, [600, 400]],
  ])('%s', (_what, entry, wished, size) => {
    const [width, height] = size ?? [];
    expect(sizeOf(entry, wished)).toEqual(size && { width, height });
  });
});

describe('the styles', () => {
  it('have distinct names without surrounding spaces', () => {
    expect(new Set(IMAGE_STYLES.map((style) => style.toLowerCase())).size).toBe(IMAGE_STYLES.length);
    expect(IMAGE_STYLES.filter((style) => style !== style.trim())).toEqual([]);
  });
});
