/** Price of a request, item by item (RPC-6). */
import type { LedgerPrice, Part } from '../ledger.ts';
import { formatNanoFixed } from '../money.ts';

/** An item that a node answered, but not with a result. */
const ERROR_CREDITS = 5;

/** `error` stands for every kind of answer without a result; `none` for no answer. */
export type AnswerKind = 'result' | 'error' | 'none';

export function creditsFor(billedAs: AnswerKind, tierCredits: number): number {
  if (billedAs === 'none') return 0;
  // No error costs more than the result would have; no network is as cheap as that today.
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
  // A part in each of two currencies is a fraction of a credit in both.
  return Math.round(paid.reduce((sum, each) => sum + each, 0));
}

/** As the header has it, with eight decimals. */
export function costOfCredits(credits: number, credit: LedgerPrice): string {
  return formatNanoFixed(priceOfCredits(credits, credit).usd, 8, 'half-up');
}
