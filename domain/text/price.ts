/** What a text call costs: tokens by kind, each at its own rate per million, each line rounded up once (specification 2.6). */
import { type Price, priceOf } from '../catalogue/model.ts';
import type { PublishedPrice, TokenPricing, TokenRates } from '../catalogue/specs.ts';
import type { LedgerPrice } from '../ledger.ts';
import { lineCost, type Nano } from '../money.ts';
import type { TokenUsage } from './chat.ts';

export interface PriceLine {
  kind: 'input' | 'cache_input' | 'cache_write' | 'output';
  tokens: number;
  /** Nano units per million tokens. */
  rate: Price;
}

const PER_MILLION = 1_000_000n;

/** The lines of a bill, those without tokens left out. An extended rate covers the whole request. */
export function linesOf(pricing: TokenPricing, usage: TokenUsage): PriceLine[] {
  const rates = ratesFor(pricing, usage.promptTokens);
  const cached = Math.min(usage.cachedTokens, usage.promptTokens);
  const written = Math.min(usage.cacheWriteTokens, usage.promptTokens - cached);
  const lines: PriceLine[] = [];
  const add = (kind: PriceLine['kind'], tokens: number, published: PublishedPrice) => {
    if (tokens > 0) lines.push({ kind, tokens, rate: priceOf(published) });
  };
  add('input', usage.promptTokens - cached - written, rates.input);
  add('cache_input', cached, rates.cache_input ?? rates.input);
  add('cache_write', written, rates.cache_write ?? rates.input);
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

/** The most that a call can cost: no part of the prompt from a cache, all of the output used. */
export function boundOf(
  pricing: TokenPricing,
  { promptTokens, outputTokens }: { promptTokens: number; outputTokens: number },
): LedgerPrice {
  const usage = { promptTokens, cachedTokens: 0, reasoningTokens: 0, completionTokens: outputTokens };
  const fresh = sumOf(linesOf(pricing, { ...usage, cacheWriteTokens: 0 }));
  if (ratesFor(pricing, promptTokens).cache_write === undefined) return fresh;
  const written = sumOf(linesOf(pricing, { ...usage, cacheWriteTokens: promptTokens }));
  return { usd: larger(fresh.usd, written.usd), diem: larger(fresh.diem, written.diem) };
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
