/** What a text call costs beside its tokens (api-facts 4.1): so much for a search and for each page that was read. */
import type { LedgerPrice } from '../ledger.ts';
import { formatNano } from '../money.ts';

const CENT: LedgerPrice = { usd: 10_000_000n, diem: 10_000_000n };

/** Per unit; also those of the augment routes (api-facts 4.4). */
export const ADD_ON_PRICES = {
  'web search': CENT,
  'page read': CENT,
  'X search': CENT,
} as const satisfies Record<string, LedgerPrice>;

export interface AddOn {
  kind: keyof typeof ADD_ON_PRICES;
  count: number;
}

export function priceOfAddOns(addOns: readonly AddOn[]): LedgerPrice {
  let usd = 0n;
  let diem = 0n;
  for (const { kind, count } of addOns) {
    usd += ADD_ON_PRICES[kind].usd * BigInt(count);
    diem += ADD_ON_PRICES[kind].diem * BigInt(count);
  }
  return { usd, diem };
}

/** For the notes of an entry. */
export function wordsOfAddOns(addOns: readonly AddOn[]): string[] {
  return addOns
    .filter(({ count }) => count > 0)
    .map(({ kind, count }) => `${kind} ${count} × ${formatNano(ADD_ON_PRICES[kind].usd)} USD`);
}
