/** Bill of a finished text call, and its ledger entry. */
import type { DecisionModel, EmbeddingModel, TextModel } from '../catalogue/model.ts';
import type { TokenPricing } from '../catalogue/specs.ts';
import type { LedgerPrice, PriceSnapshot } from '../ledger.ts';
import { formatNano } from '../money.ts';
import { type AddOn, priceOfAddOns, wordsOfAddOns } from './addOns.ts';
import type { TokenUsage } from './chat.ts';
import { linesOf, type PriceLine, plus, sumOf } from './price.ts';

/** Note of an entry whose service reported no tokens, or fewer than there were. */
export const COUNTED_HERE = 'tokens counted here: the service did not tell all of them';

export const NOTHING: LedgerPrice = { usd: 0n, diem: 0n };

export interface TextOutput {
  usage: TokenUsage;
  /** True: the service reported no usage, and we counted. */
  counted: boolean;
  /** Delivered beside the tokens, and always billed. */
  addOns?: readonly AddOn[];
  /** The client left before the end: the prompt that was sent is billed, even without an answer. */
  clientLeft?: boolean;
  /** Further notes of the entry. */
  remarks?: readonly string[];
}

export interface Bill {
  price: LedgerPrice;
  /** Merged over the snapshot of the hold. */
  details: Partial<PriceSnapshot>;
}

/** An answer without tokens is not billed for its prompt (TEXT-17). */
export function billOf(model: TextModel | DecisionModel, produced: TextOutput, executionMs: number): Bill {
  const { usage, counted, addOns = [], clientLeft = false, remarks = [] } = produced;
  const isEmpty = usage.completionTokens === 0 && !clientLeft;
  const lines = isEmpty ? [] : linesOf(model.spec.pricing, usage);
  const price = plus(sumOf(lines), priceOfAddOns(addOns));
  const words = lines.map(({ kind, tokens, rate }) => `${kind} ${tokens} × ${formatNano(rate.usd)} USD/M`);
  words.push(...wordsOfAddOns(addOns), ...remarks);
  if (counted) words.push(COUNTED_HERE);
  return {
    price,
    details: {
      units: millions(usage.promptTokens + usage.completionTokens),
      promptTokens: usage.promptTokens,
      completionTokens: usage.completionTokens,
      cachedTokens: usage.cachedTokens,
      reasoningTokens: usage.reasoningTokens,
      inferenceExecutionTime: executionMs,
      notes: ['API Inference', ...words].join('; '),
      ...listLines(lines),
      ...listAddOns(addOns),
    },
  };
}

/** Alternating tokens and rates of a bill, from which the ledger check recomputes the price. */
export function listLines(lines: readonly PriceLine[]): Partial<PriceSnapshot> {
  const usd: number[] = [];
  let hasDiemRates = false;
  for (const { tokens, rate } of lines) {
    usd.push(tokens, Number(rate.usd));
    if (rate.diem !== rate.usd) hasDiemRates = true;
  }
  if (!hasDiemRates) return { lines: usd };
  return { lines: usd, diemLines: lines.flatMap(({ tokens, rate }) => [tokens, Number(rate.diem)]) };
}

function listAddOns(addOns: readonly AddOn[]): Partial<PriceSnapshot> | undefined {
  if (addOns.length === 0) return undefined;
  const sold = addOns.filter(({ count }) => count > 0);
  return {
    ...(sold.length > 0 && { addOns: sold.flatMap(({ count, price }) => [count, Number(price.usd)]) }),
    ...(sold.some(({ price }) => price.diem !== price.usd) && {
      diemAddOns: sold.flatMap(({ count, price }) => [count, Number(price.diem)]),
    }),
  };
}

/** Snapshot of the hold; the units are known only at its end. */
export function snapshotOf(model: TextModel | EmbeddingModel | DecisionModel, requestId: string): PriceSnapshot {
  return {
    sku: `${model.id}-llm-mtoken`,
    modelId: model.id,
    provider: model.provider,
    units: '0',
    unit: 'million tokens',
    pricePerUnitUsd: rateOf(model.spec.pricing),
    requestId,
  };
}

/** The output rate represents a bill of several rates; the notes have all. */
function rateOf({ input, output }: TokenPricing | EmbeddingModel['spec']['pricing']): string {
  return BigInt(Math.round((output ?? input).usd * 1e9)).toString();
}

/** Tokens as a decimal string of millions. */
export function millions(tokens: number): string {
  const digits = String(tokens).padStart(7, '0');
  const fraction = digits.slice(-6).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -6) : `${digits.slice(0, -6)}.${fraction}`;
}
