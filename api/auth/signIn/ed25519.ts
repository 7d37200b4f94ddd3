/**
 * Ed25519 by the rules of RFC 8032 with what libraries leave open decided strictly: one encoding of each point and number,
 * and no key of small order, for which anybody could sign (reliability.md, finding 6).
 */
import { createPublicKey, verify } from 'node:crypto';

const PRIME = littleEndian('7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed');
const ORDER = littleEndian('1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed');

/** The y of the eight points of small order; each stands for two, but for those of the neutral element and of order 2. */
const SMALL_ORDER_Y = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0000000000000000000000000000000000000000000000000000000000000001',
  '7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffec',
  '05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826',
  '7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7',
].map(littleEndian);

/** Whether it can be somebody's key: 32 bytes that encode a number below p, and no point of small order. */
export function isKeyOfSomebody(key: Uint8Array): boolean {
  const y = withoutSign(key);
  return key.length === 32 && isBelow(y, PRIME) && !SMALL_ORDER_Y.some((small) => small.equals(y));
}

/** `key`: one that may be somebody's; `signature`: 64 bytes. */
export function isSignedBy(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const [point, scalar] = [signature.subarray(0, 32), signature.subarray(32)];
  if (signature.length !== 64 || !isBelow(withoutSign(point), PRIME) || !isBelow(scalar, ORDER)) return false;
  const x = Buffer.from(key).toString('base64url');
  try {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, message, publicKey, signature);
  } catch {
    return false;
  }
}

function withoutSign(point: Uint8Array): Buffer {
  const y = Buffer.from(point);
  if (y.length === 32) y.writeUInt8(y.readUInt8(31) & 0x7f, 31);
  return y;
}

function isBelow(number: Uint8Array, limit: Uint8Array): boolean {
  for (let index = limit.length - 1; index >= 0; index -= 1) {
    const difference = (number[index] ?? 0) - (limit[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function littleEndian(hex: string): Buffer {
  return Buffer.from(hex, 'hex').reverse();
}
