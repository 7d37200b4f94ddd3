/** Token prices against an independent calculation. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TokenPricing } from '../../../domain/catalogue/specs.ts';
import type { TokenUsage } from '../../../domain/text/chat.ts';
import { boundOf, linesOf, sumOf } from '../../../domain/text/price.ts';

const same = (amount: number) => ({ usd: amount, diem: amount });

const TABLES: Record<string, TokenPricing> = {
  plain: { input: same(1.4), output: same(4.4) },
  'two lengths of caching': {
    input: same(3),
    output: same(15),
    cache_input: same(0.3),
    cache_write: same(3.75),
    cache_write_1h: same(6),
  },
  tiered: {
    input: { usd: 1.25, diem: 1.3 },
    output: { usd: 10.000001, diem: 9.5 },
    cache_input: same(0),
    cache_write: same(1.5625),
    extended: {
      context_token_threshold: 200_000,
      input: same(2.5),
      output: same(15.5),
      cache_input: same(0.125),
    },
  },
};

const usages = fc
  .tuple(fc.nat(400_000), fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(200_000), fc.nat(1_000), fc.nat(1_000))
  .map(([promptTokens, share, completionTokens, written, hour]): TokenUsage => {
    const cachedTokens = Math.floor(promptTokens * share);
    const cacheWriteTokens = Math.min(written, promptTokens - cachedTokens);
    const hourCacheWriteTokens = Math.min(hour, cacheWriteTokens);
    const caching = { cachedTokens, cacheWriteTokens, hourCacheWriteTokens };
    return { promptTokens, ...caching, completionTokens, reasoningTokens: 0 };
  });

/** Long multiplication of decimal digits: nano USD of one line, with a remainder rounded up. */
function byHand(tokens: number, dollarsPerMillion: number): bigint {
  const [whole = '0', fraction = ''] = dollarsPerMillion.toFixed(9).split('.');
  const trillionths = BigInt(tokens) * BigInt(`${whole}${fraction}`);
  const digits = trillionths.toString().padStart(7, '0');
  const nano = BigInt(digits.slice(0, -6));
  return /^0+$/.test(digits.slice(-6)) ? nano : nano + 1n;
}

function billByHand(pricing: TokenPricing, usage: TokenUsage, currency: 'usd' | 'diem'): bigint {
  const { extended } = pricing;
  const rates = extended && usage.promptTokens > extended.context_token_threshold ? extended : pricing;
  const fresh = usage.promptTokens - usage.cachedTokens - usage.cacheWriteTokens;
  const hour = rates.cache_write_1h ? (usage.hourCacheWriteTokens ?? 0) : 0;
  const write = rates.cache_write ?? rates.input;
  const rows: [number, number][] = [
    [fresh, rates.input[currency]],
    [usage.cachedTokens, (rates.cache_input ?? rates.input)[currency]],
    [usage.cacheWriteTokens - hour, write[currency]],
    [hour, rates.cache_write_1h?.[currency] ?? 0],
    [usage.completionTokens, rates.output[currency]],
  ];
  return rows.reduce((sum, [tokens, dollars]) => sum + byHand(tokens, dollars), 0n);
}

describe.each(Object.entries(TABLES))('the price table "%s"', (_name, pricing) => {
  it('bills 10,000 usages like an independent calculation, to the last nano unit', () => {
    const check = fc.property(usages, (usage) => {
      expect(sumOf(linesOf(pricing, usage))).toEqual({
        usd: billByHand(pricing, usage, 'usd'),
        diem: billByHand(pricing, usage, 'diem'),
      });
    });
    fc.assert(check, { numRuns: 10_000 });
  });

  it('holds at least the cost of any usage within the bound', () => {
    const check = fc.property(usages, (usage) => {
      const { promptTokens, completionTokens } = usage;
      const asked = { promptTokens, outputTokens: completionTokens, cachesForHour: true };
      const bound = boundOf(pricing, asked);
      const { usd, diem } = sumOf(linesOf(pricing, usage));
      expect([usd <= bound.usd, diem <= bound.diem]).toEqual([true, true]);
    });
    fc.assert(check, { numRuns: 2_000 });
  });
});

it('uses zero for an explicit zero, and the input rate for a missing rate', () => {
  const cached = {
    promptTokens: 1_000_000,
    cachedTokens: 1_000_000,
    cacheWriteTokens: 0,
    completionTokens: 0,
  };
  const usage = { ...cached, reasoningTokens: 0 };
  const rates = { input: same(2), output: same(3) };
  expect(sumOf(linesOf({ ...rates, cache_input: same(0) }, usage)).usd).toBe(0n);
  expect(sumOf(linesOf(rates, usage)).usd).toBe(2_000_000_000n);
});
