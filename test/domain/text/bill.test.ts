/** The bill of a text call. The ledger recomputes each price from the lines that the bill notes (I5). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TextModel } from '../../../domain/catalogue/model.ts';
import type { TokenPricing } from '../../../domain/catalogue/specs.ts';
import { lineCost } from '../../../domain/money.ts';
import type { AddOn } from '../../../domain/text/addOns.ts';
import { billOf, COUNTED_HERE, millions, NOTHING, snapshotOf, type TextOutput } from '../../../domain/text/bill.ts';
import type { TokenUsage } from '../../../domain/text/chat.ts';

const same = (amount: number) => ({ usd: amount, diem: amount });

function modelOf(pricing: TokenPricing): TextModel {
  return {
    ...{ id: 'llm', kind: 'text', type: 'text', provider: 'house', upstreamModel: 'llm', name: 'LLM' },
    ...{ privacy: 'private', description: '', modelSource: '', created: 0 },
    spec: { availableContextTokens: 1_000_000, pricing },
  };
}

const PLAIN = modelOf({ input: same(1), output: same(4), cache_input: same(0.1) });
const TWO_PRICES = modelOf({ input: { usd: 1, diem: 0.5 }, output: { usd: 4, diem: 3 } });
const SEARCH: AddOn = { kind: 'web search', count: 2, price: { usd: 10_000_000n, diem: 10_000_000n } };

const usage = (promptTokens: number, completionTokens: number, more: Partial<TokenUsage> = {}): TokenUsage => ({
  ...{ promptTokens, completionTokens, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  ...more,
});
const produced = (more: Partial<TextOutput> = {}): TextOutput => ({
  usage: usage(1_000, 500),
  counted: false,
  ...more,
});

describe('the bill of a text call', () => {
  it('prices each kind of token at its own rate, and notes the rate', () => {
    const { price, details } = billOf(PLAIN, produced({ usage: usage(1_000, 500, { cachedTokens: 400 }) }), 1_234);
    expect(price).toEqual({ usd: 600_000n + 40_000n + 2_000_000n, diem: 2_640_000n });
    expect(details).toEqual({
      ...{
        units: '0.0015',
        promptTokens: 1_000,
        completionTokens: 500,
        cachedTokens: 400,
        reasoningTokens: 0,
      },
      inferenceExecutionTime: 1_234,
      notes: 'API Inference; input 600 × 1 USD/M; cache_input 400 × 0.1 USD/M; output 500 × 4 USD/M',
      lines: [600, 1_000_000_000, 400, 100_000_000, 500, 4_000_000_000],
    });
  });

  it('notes the rates in diem if they differ', () => {
    const { price, details } = billOf(TWO_PRICES, produced(), 1);
    expect(price).toEqual({ usd: 3_000_000n, diem: 2_000_000n });
    expect(details.lines).toEqual([1_000, 1_000_000_000, 500, 4_000_000_000]);
    expect(details.diemLines).toEqual([1_000, 500_000_000, 500, 3_000_000_000]);
  });

  it.each<[string, Partial<TextOutput>, bigint]>([
    ['an answer', {}, 3_000_000n],
    ['an answer without a token', { usage: usage(1_000, 0) }, 0n],
    ['the searches of an answer without a token', { usage: usage(1_000, 0), addOns: [SEARCH] }, 20_000_000n],
    ['the prompt of a client that left', { usage: usage(1_000, 0), clientLeft: true }, 1_000_000n],
    ['an answer to a client that left', { clientLeft: true }, 3_000_000n],
    ['an answer with searches', { addOns: [SEARCH] }, 23_000_000n],
    ['nothing at all', { usage: usage(0, 0), clientLeft: true }, 0n],
  ])('of %s', (_what, more, nano) => {
    expect(billOf(PLAIN, produced(more), 1).price).toEqual({ usd: nano, diem: nano });
  });

  it('notes last that tokens were counted here', () => {
    const { details } = billOf(PLAIN, produced({ counted: true, addOns: [SEARCH], remarks: ['left early'] }), 1);
    expect(details.notes).toBe(
      `API Inference; input 1000 × 1 USD/M; output 500 × 4 USD/M; web search 2 × 0.01 USD; left early; ${COUNTED_HERE}`,
    );
  });

  it.each<[string, AddOn[], object]>([
    ['nothing without any', [], {}],
    ['those with a count', [SEARCH, { ...SEARCH, count: 0 }], { addOns: [2, 10_000_000] }],
    ['nothing where none has a count', [{ ...SEARCH, count: 0 }], {}],
    [
      'another price in diem',
      [{ ...SEARCH, price: { usd: 10_000_000n, diem: 5n } }],
      { addOns: [2, 10_000_000], diemAddOns: [2, 5] },
    ],
  ])('notes its add-ons %s', (_what, addOns, noted) => {
    const { addOns: listed, diemAddOns } = billOf(PLAIN, produced({ addOns }), 1).details;
    expect(JSON.parse(JSON.stringify({ addOns: listed, diemAddOns }))).toEqual(noted);
  });

  it('can be recomputed from its notes', () => {
    const tokens = fc.nat(3_000_000);
    fc.assert(
      fc.property(tokens, tokens, tokens, fc.nat(5), (prompt, completion, cached, count) => {
        const counts = usage(prompt, completion, { cachedTokens: Math.min(cached, prompt) });
        for (const model of [PLAIN, TWO_PRICES]) {
          const sold = { ...SEARCH, count };
          const { price, details } = billOf(model, produced({ usage: counts, addOns: [sold] }), 1);
          const again = (lines: unknown, addOns: unknown) => sumOf(lines, 1_000_000n) + sumOf(addOns, 1n);
          expect(again(details.lines, details.addOns)).toBe(price.usd);
          expect(again(details.diemLines ?? details.lines, details.diemAddOns ?? details.addOns)).toBe(price.diem);
        }
      }),
    );
  });
});

/** Pairs of a count and a rate. */
function sumOf(pairs: unknown, per: bigint): bigint {
  const numbers = (pairs ?? []) as number[];
  let sum = 0n;
  for (let at = 0; at < numbers.length; at += 2) {
    sum += lineCost(BigInt(numbers[at] ?? 0), BigInt(numbers[at + 1] ?? 0), per);
  }
  return sum;
}

describe('the snapshot of a text hold', () => {
  it('names the model and its output rate before any unit is known', () => {
    expect(snapshotOf(PLAIN, 'request-1')).toEqual({
      ...{ sku: 'llm-llm-mtoken', modelId: 'llm', provider: 'house', units: '0', unit: 'million tokens' },
      ...{ pricePerUnitUsd: '4000000000', requestId: 'request-1' },
    });
  });

  it('has a zero amount at first', () => {
    expect(NOTHING).toEqual({ usd: 0n, diem: 0n });
  });
});

describe('token counts in millions', () => {
  it.each([
    [0, '0'],
    [1, '0.000001'],
    [10, '0.00001'],
    [1_500, '0.0015'],
    [999_999, '0.999999'],
    [1_000_000, '1'],
    [1_000_001, '1.000001'],
    [12_345_600, '12.3456'],
    [123_000_000, '123'],
  ])('%i are %s', (tokens, text) => {
    expect(millions(tokens)).toBe(text);
  });

  it('are exact', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31 - 1), (tokens) => {
        expect(Math.round(Number(millions(tokens)) * 1_000_000)).toBe(tokens);
      }),
    );
  });
});
