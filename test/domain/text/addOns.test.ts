import { describe, expect, it } from 'vitest';
import { type AddOn, priceOfAddOns, wordsOfAddOns, X_SEARCH_PRICE } from '../../../domain/text/addOns.ts';

const SEARCH: AddOn = { kind: 'web search', count: 2, price: { usd: 10_000_000n, diem: 11_000_000n } };
const PAGE: AddOn = { kind: 'page read', count: 3, price: { usd: 1_500_000n, diem: 0n } };
const X: AddOn = { kind: 'X search', count: 1, price: X_SEARCH_PRICE };

describe('delivered add-ons', () => {
  it.each<[string, AddOn[], bigint, bigint, string[]]>([
    ['nothing', [], 0n, 0n, []],
    ['two searches', [SEARCH], 20_000_000n, 22_000_000n, ['web search 2 × 0.01 USD']],
    ['a search on X', [X], 10_000_000n, 10_000_000n, ['X search 1 × 0.01 USD']],
    [
      'all kinds',
      [SEARCH, PAGE, X],
      34_500_000n,
      32_000_000n,
      ['web search 2 × 0.01 USD', 'page read 3 × 0.0015 USD', 'X search 1 × 0.01 USD'],
    ],
    ['a search that did not happen', [{ ...SEARCH, count: 0 }, PAGE], 4_500_000n, 0n, ['page read 3 × 0.0015 USD']],
  ])('are billed by their count: %s', (_what, addOns, usd, diem, words) => {
    expect(priceOfAddOns(addOns)).toEqual({ usd, diem });
    expect(wordsOfAddOns(addOns)).toEqual(words);
  });
});
