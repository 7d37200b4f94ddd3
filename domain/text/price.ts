/** Price of a text call: tokens by kind, each at its own rate per million, each line rounded up once (MODEL-4). */
import { type Price, priceOf, type TextModel } from '../catalogue/model.ts';
import type { PublishedPrice, TokenPricing, TokenRates } from '../catalogue/specs.ts';
import type { LedgerPrice } from '../ledger.ts';
import { lineCost, type Nano, nanoToNumber } from '../money.ts';
import type { ChatRequest, TokenUsage } from './chat.ts';
import { CACHE_WRITE_SECONDS, nearestRetention } from './promptCache.ts';

export interface PriceLine {
  kind: 'input' | 'cache_input' | 'cache_write' | 'cache_write_1h' | 'output';
  tokens: number;
  /** Nano units per million tokens. */
  rate: Price;
}

const PER_MILLION = 1_000_000n;

/** Lines of a bill, without those of zero tokens. An extended rate applies to the whole request. */
export function linesOf(pricing: TokenPricing, usage: TokenUsage): PriceLine[] {
  const rates = ratesFor(pricing, usage.promptTokens);
  const cached = Math.min(usage.cachedTokens, usage.promptTokens);
  const written = Math.min(usage.cacheWriteTokens, usage.promptTokens - cached);
  const { cache_write_1h: hourRate } = rates;
  // Two lines with one rate would be rounded up twice.
  const writtenForHour = hourRate ? Math.min(usage.hourCacheWriteTokens ?? 0, written) : 0;
  const lines: PriceLine[] = [];
  const add = (kind: PriceLine['kind'], tokens: number, published: PublishedPrice) => {
    if (tokens > 0) lines.push({ kind, tokens, rate: priceOf(published) });
  };
  add('input', usage.promptTokens - cached - written, rates.input);
  add('cache_input', cached, rates.cache_input ?? rates.input);
  add('cache_write', written - writtenForHour, rates.cache_write ?? rates.input);
  if (hourRate) add('cache_write_1h', writtenForHour, hourRate);
  add('output', usage.completionTokens, rates.output);
  return lines;
}

export function sumOf(lines: readonly PriceLine[]): LedgerPrice {
  let usd = 0n;
  let diem = 0n;
  for (const { tokens, rate } of lines) {
    usd += lineCost(BigInt(tokens), rate.usd, PER_MILLION);
    diem += lineCost(BigInt(tokens), rate.diem, PER_MILLION);
  }
  return { usd, diem };
}

export interface LargestCall {
  promptTokens: number;
  outputTokens: number;
  /** The prompt may be written to a cache for an hour. */
  cachesForHour?: boolean;
}

/** Highest price of a call: no part of the prompt read from a cache, all output used. */
export function boundOf(
  pricing: TokenPricing,
  { promptTokens, outputTokens, cachesForHour = false }: LargestCall,
): LedgerPrice {
  const usage = { promptTokens, cachedTokens: 0, reasoningTokens: 0, completionTokens: outputTokens };
  const costOf = (cacheWriteTokens: number, hourCacheWriteTokens: number) =>
    sumOf(linesOf(pricing, { cacheWriteTokens, hourCacheWriteTokens, ...usage }));
  const possible = [costOf(0, 0)];
  const { cache_write, cache_write_1h } = ratesFor(pricing, promptTokens);
  if (cache_write !== undefined) possible.push(costOf(promptTokens, 0));
  if (cachesForHour && cache_write_1h !== undefined) possible.push(costOf(promptTokens, promptTokens));
  return possible.reduce((most, cost) => ({
    usd: larger(most.usd, cost.usd),
    diem: larger(most.diem, cost.diem),
  }));
}

/** Whether a part is marked for it, or it is requested for the whole prompt. */
export function asksForHourCache({ messages, promptCache }: ChatRequest): boolean {
  const { retentionSeconds } = promptCache ?? {};
  if (retentionSeconds !== undefined && nearestRetention(retentionSeconds, CACHE_WRITE_SECONDS) === '1h') return true;
  return messages.some(
    ({ content }) =>
      Array.isArray(content) && content.some(({ cache_control: mark }) => mark?.ttl !== undefined && mark.ttl !== '5m'),
  );
}

export function plus(left: LedgerPrice, right: LedgerPrice): LedgerPrice {
  return { usd: left.usd + right.usd, diem: left.diem + right.diem };
}

function larger(left: Nano, right: Nano): Nano {
  return left < right ? right : left;
}

function ratesFor({ extended, ...rates }: TokenPricing, promptTokens: number): TokenRates {
  return extended !== undefined && promptTokens > extended.context_token_threshold ? extended : rates;
}

/** Price of a cache write as a fraction of the input price: for five minutes and for an hour. */
const WRITE = { numerator: 5n, denominator: 4n };
const WRITE_1H = { numerator: 2n, denominator: 1n };

/** Adds missing rates of cache writes, so that the published prices are complete. */
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
