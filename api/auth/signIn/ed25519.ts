/**
 * Ed25519 by RFC 8032, strict where libraries leave a choice: one encoding of each point and number, and no key of
 * small order, for which anyone could sign (WALLET-4).
 */
import { createPublicKey, verify } from 'node:crypto';
import { isLargeOrderPoint, isStrictEd25519 } from '../../../domain/ed25519.ts';

/** Whether bytes can be a key: 32 bytes that encode a number below p, and no point of small order. */
export const isValidPublicKey = isLargeOrderPoint;

/** `key`: checked by `isKeyOfSomebody`; `signature`: 64 bytes. */
export function isSignedBy(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (!isStrictEd25519(key, signature)) return false;
  const x = Buffer.from(key).toString('base64url');
  try {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, message, publicKey, signature);
  } catch {
    return false;
  }
}
