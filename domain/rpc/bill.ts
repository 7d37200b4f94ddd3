/** What a request costs, item by item (specification 4.5, rules 3 and 5; api-facts 4.5, "Billing"). */
import type { LedgerPrice } from '../ledger.ts';
import { formatNanoFixed } from '../money.ts';
import { NANO_USD_PER_CREDIT } from './networks.ts';

/** An item that a node answered, but not with a result. */
export const ERROR_CREDITS = 5;

/** `error` stands for every kind of answer without a result; `none` for no answer. */
export type BilledAs = 'result' | 'error' | 'none';

export function creditsFor(billedAs: BilledAs, tierCredits: number): number {
  if (billedAs === 'none') return 0;
  // No error costs more than the result would have; no network is as cheap as that today.
  return billedAs === 'error' ? Math.min(ERROR_CREDITS, tierCredits) : tierCredits;
}

/** The same from a balance of diem as in dollars. */
export function priceOfCredits(credits: number): LedgerPrice {
  const price = BigInt(credits) * NANO_USD_PER_CREDIT;
  return { usd: price, diem: price };
}

/** As the header has it: eight decimals, which is exact. */
export function costOfCredits(credits: number): string {
  return formatNanoFixed(priceOfCredits(credits).usd, 8, 'half-up');
}
