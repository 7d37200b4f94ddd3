/** State machine of JSON numbers: the state stands for the bytes read so far. Also the digits of an escape. */

/** States in which a number may end. */
const LEADING_ZERO = 10;
const DIGITS = 11;
const DIGITS_OF_FRACTION = 12;
const DIGITS_OF_POWER = 13;
/** States in which it may not. */
const SIGN = 14;
const POINT = 15;
const POWER = 16;
const SIGN_OF_POWER = 17;
/** The byte cannot continue a number. */
export const NO_NUMBER = -1;

const ZERO = 0x30;
const NINE = 0x39;
const MINUS = 0x2d;

export function isWholeNumber(state: number): boolean {
  return state >= LEADING_ZERO && state <= DIGITS_OF_POWER;
}

export function beginNumber(byte: number): number {
  return byte === MINUS ? SIGN : afterSign(byte);
}

export function afterNumber(state: number, byte: number): number {
  if (byte >= ZERO && byte <= NINE) return afterDigit(state, byte);
  if (byte === 0x2e) return state === LEADING_ZERO || state === DIGITS ? POINT : NO_NUMBER;
  if (byte === 0x65 || byte === 0x45) return state <= DIGITS_OF_FRACTION ? POWER : NO_NUMBER;
  return state === POWER && (byte === 0x2b || byte === MINUS) ? SIGN_OF_POWER : NO_NUMBER;
}

function afterDigit(state: number, byte: number): number {
  if (state === SIGN) return afterSign(byte);
  if (state === LEADING_ZERO) return NO_NUMBER;
  if (state === POINT) return DIGITS_OF_FRACTION;
  return state === POWER || state === SIGN_OF_POWER ? DIGITS_OF_POWER : state;
}

function afterSign(byte: number): number {
  if (byte === ZERO) return LEADING_ZERO;
  return byte > ZERO && byte <= NINE ? DIGITS : NO_NUMBER;
}

export function isHexDigit(byte: number): boolean {
  return (byte >= ZERO && byte <= NINE) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}
