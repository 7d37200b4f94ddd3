/** Allowed amounts of a top-up, in smallest units of a dollar token. */
import type { PaymentRefusal } from './envelope.ts';

export const MIN_TOP_UP_USD = 5;
const MAX_TOP_UP_USD = 10_000;

/** Number of digits of 2^256. */
const CANONICAL = /^(0|[1-9][0-9]{0,77})$/;

/** Integer as chains write it: decimal, without sign, exponent or leading zeros; undefined for anything else. */
export function readUnits(value: unknown): bigint | undefined {
  return typeof value === 'string' && CANONICAL.test(value) ? BigInt(value) : undefined;
}

/** Undefined: an allowed amount. */
export function refuseAmount(value: unknown, decimals: number): PaymentRefusal | undefined {
  const units = readUnits(value);
  if (units === undefined) {
    return { code: 'INVALID_AMOUNT', message: 'the amount must be a decimal string of whole smallest units' };
  }
  const dollar = 10n ** BigInt(decimals);
  if (units < BigInt(MIN_TOP_UP_USD) * dollar) {
    return {
      code: 'AMOUNT_TOO_LOW',
      message: `a top-up is at least ${MIN_TOP_UP_USD} USD`,
      details: { minimumUsd: String(MIN_TOP_UP_USD) },
    };
  }
  if (units > BigInt(MAX_TOP_UP_USD) * dollar) {
    return {
      code: 'AMOUNT_TOO_HIGH',
      message: `a top-up is at most ${MAX_TOP_UP_USD} USD`,
      details: { maximumUsd: String(MAX_TOP_UP_USD) },
    };
  }
  return undefined;
}
