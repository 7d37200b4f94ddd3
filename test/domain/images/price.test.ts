/** Every tier of every built-in entry, against a separate calculation from the published list, in USD by floats. */
import { describe, expect, it } from 'vitest';
import { IMAGE_MODELS, UPSCALE_MODELS } from '../../../domain/catalogue/builtin/images.ts';
import { INPAINT_MODELS } from '../../../domain/catalogue/builtin/inpaint.ts';
import type { ByQuality, ByResolution } from '../../../domain/catalogue/specs.ts';
import { chooseTier, qualitiesOf, resolutionsOf } from '../../../domain/images/offer.ts';
import { type ImageTier, priceOfEdit, priceOfImages, priceOfUpscale } from '../../../domain/images/price.ts';

const nano = (usd: number) => BigInt(Math.round(usd * 1e9));
const tiersOf = (spec: Parameters<typeof resolutionsOf>[0]) =>
  [undefined, ...resolutionsOf(spec)].flatMap((resolution) =>
    [undefined, ...qualitiesOf(spec)].map((quality) => ({ resolution, quality })),
  );

interface Listed {
  plain: number | undefined;
  resolutions?: ByResolution | undefined;
  quality?: ByQuality | undefined;
}

/** USD from the list. Defaults: the best quality, and the resolution 1K. */
function readOff({ plain, resolutions, quality }: Listed, wished: ImageTier): number {
  const resolution = wished.resolution ?? '1K';
  if (!quality) return resolutions?.[resolution]?.usd ?? plain ?? Number.NaN;
  const tiers = quality[resolution];
  return tiers?.[wished.quality ?? (tiers.high ? 'high' : 'medium')]?.usd ?? Number.NaN;
}

function chosen(spec: Parameters<typeof chooseTier>[0], wished: ImageTier): ImageTier {
  const tier = chooseTier(spec, wished, { strict: false });
  if (!tier.ok) throw new Error(tier.message);
  return tier;
}

describe('the price of an edit by resolution, quality and additional images', () => {
  it.each(INPAINT_MODELS.filter(({ spec }) => spec.pricing))('$id', ({ spec }) => {
    const { inpaint, resolutions, quality, inputImages } = spec.pricing ?? {};
    for (const wished of tiersOf(spec)) {
      for (const imageCount of [1, 2, 3, 10]) {
        const extra = inputImages ? Math.max(0, imageCount - inputImages.included) * inputImages.additional.usd : 0;
        const expected = nano(readOff({ plain: inpaint?.usd, resolutions, quality }, wished) + extra);
        const price = priceOfEdit(spec, { ...chosen(spec, wished), imageCount, count: 1 });
        expect([wished, imageCount, price?.usd, price?.diem]).toEqual([wished, imageCount, expected, expected]);
      }
    }
  });
});

describe('the price of images by resolution, quality and number', () => {
  it.each(IMAGE_MODELS)('$id', ({ spec }) => {
    const { generation, resolutions, quality } = spec.pricing;
    for (const wished of tiersOf(spec)) {
      for (const count of [1, 4]) {
        const expected = nano(readOff({ plain: generation?.usd, resolutions, quality }, wished) * count);
        const price = priceOfImages(spec, { ...chosen(spec, wished), count });
        expect([wished, price?.usd]).toEqual([wished, expected]);
      }
    }
  });
});

it('has one price up to twice the size, and another above', () => {
  const [upscaler] = UPSCALE_MODELS;
  if (!upscaler) throw new Error('no upscaler');
  const priced = [1, 2, 2.01, 4].map((scale) => priceOfUpscale(upscaler.spec, scale).usd);
  expect(priced).toEqual([nano(0.02), nano(0.02), nano(0.08), nano(0.08)]);
});

it('is undefined for an edit model without a published price', () => {
  const unpriced = INPAINT_MODELS.find(({ id }) => id === 'muse-image-edit');
  expect(
    priceOfEdit(unpriced?.spec ?? {}, { resolution: '1K', quality: 'high', imageCount: 1, count: 1 }),
  ).toBeUndefined();
});
