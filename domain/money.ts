/**
 * Money is an integer number of nano-dollars (1e-9 USD) in a bigint; diem, bundled credit and vcu use the same scale.
 * One RPC credit (7e-7 USD) is 700, so every published price is an integer. Rounding happens here and nowhere else.
 */
export type Nano = bigint;

export const NANO_PER_UNIT = 1_000_000_000n;

/** Currencies of an account, in spending order. */
export const SPEND_ORDER = ['diem', 'bundled', 'usd'] as const;
export type Currency = 'diem' | 'bundled' | 'usd' | 'vcu';

/** Amount in JSON between our own parts: a decimal string of nano units. */
export type NanoString = string;

const DECIMAL = /^(\d{1,12})(?:\.(\d{1,9}))?$/;

/** Reads a plain decimal ("0.1", "12") into nano units; undefined for anything else (signs, exponents, over 9 decimals). */
export function parseNano(decimal: string): Nano | undefined {
  const match = DECIMAL.exec(decimal);
  if (!match) return undefined;
  return BigInt(match[1] ?? '0') * NANO_PER_UNIT + BigInt((match[2] ?? '').padEnd(9, '0'));
}

/**
 * Reads a price or limit written as a JSON number of whole units. JSON numbers are doubles; nine decimals of any
 * amount below 9,999,999,999 are recovered by rounding to the nearest nano. Undefined when not finite or negative.
 */
export function nanoFromNumber(units: number): Nano | undefined {
  if (!Number.isFinite(units) || units < 0 || units > 1e12) return undefined;
  return parseNano(units.toFixed(9));
}

/**
 * The same for an amount that must have nine decimals at most, as its shortest decimal form shows: undefined for more,
 * where `nanoFromNumber` rounds.
 */
export function nanoFromDecimalNumber(units: number): Nano | undefined {
  if (!Number.isFinite(units) || units < 0 || units > 1e12) return undefined;
  // Numbers below a millionth print with an exponent.
  const decimal = units < 1e-6 ? units.toFixed(9) : String(units);
  return Number(decimal) === units ? parseNano(decimal) : undefined;
}

/** All integers up to this are exact as doubles. */
const MAX_EXACT: Nano = 2n ** 53n;

/** Nano units as a JSON number of whole units, for the public edge only. */
export function nanoToNumber(amount: Nano): number {
  // Both are exact, so their quotient is the double nearest to the amount (bench `usage`), as for its decimal text.
  if (amount <= MAX_EXACT && amount >= -MAX_EXACT) return Number(amount) / Number(NANO_PER_UNIT);
  return Number(formatNano(amount));
}

/** The same for a balance (amounts ≥ 0): where a double cannot be exact, the largest that is not above the amount. */
export function nanoToNumberDown(amount: Nano): number {
  let units = nanoToNumber(amount);
  while (isMoreThan(units, amount)) units = nextBelow(units);
  return units;
}

/** Up to fifteen digits are exact; only beyond can the printed double exceed the amount. */
function isMoreThan(units: number, amount: Nano): boolean {
  if (amount < 10n ** 15n) return false;
  const [whole = '0', fraction = ''] = units.toString().split('.');
  return BigInt(whole + fraction.padEnd(20, '0')) > amount * 10n ** 11n;
}

function nextBelow(units: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, units);
  view.setBigUint64(0, view.getBigUint64(0) - 1n);
  return view.getFloat64(0);
}

/** Nano units as an exact decimal string without trailing zeros. */
export function formatNano(amount: Nano): string {
  const sign = amount < 0n ? '-' : '';
  const absolute = amount < 0n ? -amount : amount;
  const fraction = (absolute % NANO_PER_UNIT).toString().padStart(9, '0').replace(/0+$/, '');
  return `${sign}${absolute / NANO_PER_UNIT}${fraction ? `.${fraction}` : ''}`;
}

/** Nano units with a fixed number of decimals: charges are rounded half up, balances down. */
export function formatNanoFixed(amount: Nano, decimals: number, rounding: 'half-up' | 'down'): string {
  const step = 10n ** BigInt(9 - decimals);
  const sign = amount < 0n ? '-' : '';
  const absolute = amount < 0n ? -amount : amount;
  const steps = rounding === 'half-up' ? (absolute + step / 2n) / step : absolute / step;
  const whole = steps / 10n ** BigInt(decimals);
  const fraction = (steps % 10n ** BigInt(decimals)).toString().padStart(decimals, '0');
  return decimals === 0 ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}

/** One price line: quantity × price ÷ per, rounded up once. */
export function lineCost(quantity: bigint, priceNano: Nano, per: bigint): Nano {
  const product = quantity * priceNano;
  return product / per + (product % per > 0n ? 1n : 0n);
}
