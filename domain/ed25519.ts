/**
 * Checks of wallet signatures that libraries omit (RFC 8032 section 5.1.7, "Taming the many EdDSAs"). They refuse
 * second spellings of a signature, and keys of small order, for which anybody can sign anything. node:crypto verifies
 * the signature itself.
 */

/** Prime of the field. */
const P = 2n ** 255n - 19n;
/** Order of the signature group. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const SIGN_BIT = 2n ** 255n;

/** The y coordinates of points of order 8; those of order 1, 2 and 4 have 1, -1 and 0. */
const Y_OF_ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL_ORDER = new Set([0n, 1n, P - 1n, Y_OF_ORDER_8, P - Y_OF_ORDER_8]);

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** Key and nonce point must be canonical and of large order, and the scalar below the order. */
export function isStrictEd25519(key: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_BYTES) return false;
  const scalar = littleEndian(signature.subarray(KEY_BYTES));
  return isLargeOrderPoint(key) && isLargeOrderPoint(signature.subarray(0, KEY_BYTES)) && scalar < L;
}

/** Points off the curve are not checked: no signature verifies for them. */
export function isLargeOrderPoint(point: Uint8Array): boolean {
  if (point.length !== KEY_BYTES) return false;
  const y = littleEndian(point) % SIGN_BIT;
  return y < P && !SMALL_ORDER.has(y);
}

function littleEndian(bytes: Uint8Array): bigint {
  let value = 0n;
  for (let index = bytes.length - 1; index >= 0; index -= 1) value = value * 256n + BigInt(bytes[index] ?? 0);
  return value;
}
