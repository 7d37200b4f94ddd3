/** Price of a request, item by item (RPC-6). */
import type { LedgerPrice, Part } from '../ledger.ts';
import { formatNanoFixed } from '../money.ts';

/** Credits of an item that a node answered without a result. */
const ERROR_CREDITS = 5;

/** `error`: any answer without a result; `none`: no answer. */
export type AnswerKind = 'result' | 'error' | 'none';

export function creditsFor(billedAs: AnswerKind, tierCredits: number): number {
  if (billedAs === 'none') return 0;
  // An error never costs more than a result; no network is that cheap today.
  return billedAs === 'error' ? Math.min(ERROR_CREDITS, tierCredits) : tierCredits;
}

export function priceOfCredits(credits: number, credit: LedgerPrice): LedgerPrice {
  return { usd: BigInt(credits) * credit.usd, diem: BigInt(credits) * credit.diem };
}

/** Credits that were paid with these parts. */
export function creditsOfParts(parts: readonly Part[], credit: LedgerPrice): number {
  const paid = parts.map(({ currency, amount }) => {
    const price = currency === 'diem' ? credit.diem : credit.usd;
    return price === 0n ? 0 : Number(amount) / Number(price);
  });
  // Parts in two currencies are each a fraction of a credit.
  return Math.round(paid.reduce((sum, each) => sum + each, 0));
}

/** USD with eight decimals, for the header. */
export function costOfCredits(credits: number, credit: LedgerPrice): string {
  return formatNanoFixed(priceOfCredits(credits, credit).usd, 8, 'half-up');
}
