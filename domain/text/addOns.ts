/** Prices of a text call beside its tokens: searches, and pages that were read (TEXT-13). */
import type { LedgerPrice } from '../ledger.ts';
import { formatNano } from '../money.ts';

/** The model itself searches X; our own searches and pages have the configured prices. */
export const X_SEARCH_PRICE: LedgerPrice = { usd: 10_000_000n, diem: 10_000_000n };

export interface AddOn {
  kind: 'web search' | 'page read' | 'X search';
  count: number;
  /** Price of one. */
  price: LedgerPrice;
}

export function priceOfAddOns(addOns: readonly AddOn[]): LedgerPrice {
  let usd = 0n;
  let diem = 0n;
  for (const { price, count } of addOns) {
    usd += price.usd * BigInt(count);
    diem += price.diem * BigInt(count);
  }
  return { usd, diem };
}

/** Words for the notes of an entry. */
export function wordsOfAddOns(addOns: readonly AddOn[]): string[] {
  return addOns
    .filter(({ count }) => count > 0)
    .map(({ kind, count, price }) => `${kind} ${count} × ${formatNano(price.usd)} USD`);
}
