/** What writing to the prompt cache costs at services that charge more for it than for reading the prompt. */
import { type Nano, nanoToNumber } from '../money.ts';
import { priceOf, type TextModel } from './model.ts';
import type { PublishedPrice, TokenRates } from './specs.ts';

/** Of the input price, as a fraction: for five minutes, and for an hour. */
const WRITE = { numerator: 5n, denominator: 4n };
const WRITE_1H = { numerator: 2n, denominator: 1n };

/** Adds the rates that the entry leaves out, so that they are published as they are charged. */
export function withCacheWriteRates(model: TextModel): TextModel {
  const { pricing } = model.spec;
  const { extended } = pricing;
  return {
    ...model,
    spec: {
      ...model.spec,
      pricing: {
        ...pricing,
        ...writeRatesOf(pricing),
        ...(extended && { extended: { ...extended, ...writeRatesOf(extended) } }),
      },
    },
  };
}

function writeRatesOf(rates: TokenRates): Required<Pick<TokenRates, 'cache_write' | 'cache_write_1h'>> {
  return {
    cache_write: rates.cache_write ?? times(rates.input, WRITE),
    cache_write_1h: rates.cache_write_1h ?? times(rates.input, WRITE_1H),
  };
}

/** Rounded up to a whole nano. */
function times(published: PublishedPrice, { numerator, denominator }: typeof WRITE): PublishedPrice {
  const { usd, diem } = priceOf(published);
  const product = (amount: Nano) => nanoToNumber((amount * numerator + denominator - 1n) / denominator);
  return { usd: product(usd), diem: product(diem) };
}
