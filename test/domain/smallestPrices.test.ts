/** The smallest price of a route is a lower bound of its prices, and at least 0.0001 USD. */
import { describe, expect, it } from 'vitest';
import { createCatalogue, mergeModels } from '../../domain/catalogue/catalogue.ts';
import type { MusicModel, TextModel, VideoModel } from '../../domain/catalogue/model.ts';
import type { PublishedPrice } from '../../domain/catalogue/specs.ts';
import { MIN_PRICE, smallestPricesOf, toSmallestPrices } from '../../domain/smallestPrices.ts';

const NANO = 1_000_000_000;
const same = (usd: number): PublishedPrice => ({ usd, diem: usd });
const nano = (usd: number, diem = usd) => ({
  usd: BigInt(Math.round(usd * NANO)),
  diem: BigInt(Math.round(diem * NANO)),
});
const base = {
  ...{ id: 'm', provider: 'p', upstreamModel: 'm', privacy: 'private' as const, name: 'm' },
  ...{ description: '', modelSource: '', created: 0 },
};
const text = (input: number, output: number): TextModel => ({
  ...base,
  ...{ kind: 'text', type: 'text' },
  spec: { availableContextTokens: 1_000, pricing: { input: same(input), output: same(output) } },
});
const music = (spec: MusicModel['spec']): MusicModel => ({ ...base, kind: 'music', type: 'music', spec });
const video = (price: VideoModel['price'], constraints?: object): VideoModel =>
  ({
    ...base,
    ...{ kind: 'video', type: 'video', price, spec: { constraints } },
  }) as unknown as VideoModel;

describe('a model', () => {
  it.each([
    ['billed by tokens: the floor', text(1, 2), [MIN_PRICE], false],
    ['with a price of its output only: the floor', text(0, 2), [MIN_PRICE], false],
    ['without any price', text(0, 0), [MIN_PRICE], true],
    [
      'priced by the second: its shortest order',
      music({ pricing: { per_second: same(0.5) }, min_duration: 3 }),
      [nano(1.5)],
      false,
    ],
    [
      'priced by tiers: the cheapest one',
      music({ pricing: { durations: { '60': same(0.2), '30': same(0.1) } } }),
      [nano(0.1)],
      false,
    ],
    [
      'of videos by the second: the shortest one, at the cheapest resolution',
      video({ perSecond: { '480p': same(0.01), '720p': same(0.02) } }, { durations: ['10s', '5s'] }),
      [nano(0.05)],
      false,
    ],
    [
      'of videos whose source decides the length: one second',
      video({ perSecond: { any: same(0.01) } }, { model_type: 'video', durations: ['5s'] }),
      [nano(0.01)],
      false,
    ],
    ['of videos without a price: the floor', video(undefined), [MIN_PRICE], false],
  ])('%s', (_name, model, paid, hasFree) => {
    expect(smallestPricesOf([model])).toEqual({ paid, hasFree });
  });
});

describe('several prices', () => {
  it('keep those that are not above another in every currency', () => {
    const prices = [nano(0.2, 0.3), nano(0.3, 0.2), nano(0.3, 0.3), nano(0.2, 0.3)];
    expect(toSmallestPrices(prices).paid).toEqual([nano(0.2, 0.3), nano(0.3, 0.2)]);
  });

  it('keep a price in diem only beside one in USD only', () => {
    const prices = [nano(0.1, 0), nano(0, 0.5)];
    expect(toSmallestPrices(prices)).toEqual({ paid: prices, hasFree: false });
  });

  it('are raised to 0.0001 USD, but a zero part stays zero', () => {
    expect(toSmallestPrices([nano(0.00001, 0)]).paid).toEqual([{ usd: MIN_PRICE.usd, diem: 0n }]);
  });
});

it('exists for every built-in model', () => {
  for (const model of createCatalogue(mergeModels([])).models) {
    expect(smallestPricesOf([model]).paid.length, model.id).toBeGreaterThan(0);
  }
});
