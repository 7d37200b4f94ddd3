import { describe, expect, it } from 'vitest';
import { priceOf, type TextModel } from '../../../domain/catalogue/model.ts';
import type { TokenPricing } from '../../../domain/catalogue/specs.ts';
import { withCacheWriteRates } from '../../../domain/text/price.ts';

const same = (amount: number) => ({ usd: amount, diem: amount });

function pricingOf(pricing: TokenPricing): TokenPricing {
  const model: TextModel = {
    ...{ id: 'llm', kind: 'text', type: 'text', provider: 'p', upstreamModel: 'llm', name: 'LLM' },
    ...{ privacy: 'private', description: '', modelSource: '', created: 0 },
    spec: { availableContextTokens: 1, pricing },
  };
  const before = structuredClone(model);
  const changed = withCacheWriteRates(model);
  expect(model).toEqual(before);
  expect(changed).toEqual({ ...model, spec: { ...model.spec, pricing: changed.spec.pricing } });
  return changed.spec.pricing;
}

describe('the cache write rates', () => {
  it.each([
    ['a quarter more than the input, and twice as much for an hour', same(3), same(3.75), same(6)],
    ['in each currency its own', { usd: 1, diem: 2 }, { usd: 1.25, diem: 2.5 }, { usd: 2, diem: 4 }],
    ['rounded up to a whole nano', same(1e-9), same(2e-9), same(2e-9)],
    ['nothing where the input costs nothing', same(0), same(0), same(0)],
  ])('are %s', (_what, input, write, writeForHour) => {
    const rates = pricingOf({ input, output: same(15) });
    expect(rates).toEqual({ input, output: same(15), cache_write: write, cache_write_1h: writeForHour });
  });

  it('are those of the entry if it has them', () => {
    const rates: TokenPricing = {
      input: same(3),
      output: same(15),
      cache_write: same(3.5),
      cache_write_1h: same(7),
    };
    expect(pricingOf(rates)).toEqual(rates);
    const { cache_write_1h: _, ...partly } = rates;
    expect(pricingOf(partly)).toEqual({ ...partly, cache_write_1h: same(6) });
  });

  it('for long prompts follow the input rate of long prompts', () => {
    const extended = { context_token_threshold: 200_000, input: same(6), output: same(22.5) };
    expect(pricingOf({ input: same(3), output: same(15), extended }).extended).toEqual({
      ...{ ...extended, cache_write: same(7.5), cache_write_1h: same(12) },
    });
  });
});

describe('a published price', () => {
  it.each([
    [0, 0n],
    [7e-7, 700n],
    [0.35, 350_000_000n],
    [1_000_000, 1_000_000_000_000_000n],
  ])('of %d is %d nano units', (units, nano) => {
    expect(priceOf({ usd: units, diem: units })).toEqual({ usd: nano, diem: nano });
  });

  it('is converted once per entry', () => {
    const published = same(0.5);
    expect(priceOf(published)).toBe(priceOf(published));
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 1e13])('of %d is an error of the entry', (units) => {
    expect(() => priceOf({ usd: units, diem: 0 })).toThrow(RangeError);
    expect(() => priceOf({ usd: 0, diem: units })).toThrow(RangeError);
  });
});
