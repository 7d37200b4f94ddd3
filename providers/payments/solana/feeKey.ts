/** The key that pays transaction fees, and Ed25519 by Solana's rules. */
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { getBase58Decoder, getBase58Encoder } from '@solana/kit';
import { isStrictEd25519 } from '../../../domain/ed25519.ts';

export interface FeeKey {
  /** Base58. */
  address: string;
  /** Deterministic, so a transaction's id is known before it is submitted. */
  sign(message: Uint8Array): Uint8Array;
}

const SEED_BYTES = 32;
const KEY_PAIR_BYTES = 64;
/** DER prefix of a raw key (RFC 8410). */
const PRIVATE_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** Undefined unless the text is a key pair: 64 bytes in base58, or the JSON array in files of Solana's tools. */
export function readFeeKey(text: string): FeeKey | undefined {
  const pair = keyPairBytes(text.trim());
  if (pair === undefined) return undefined;
  const der = Buffer.concat([PRIVATE_HEAD, pair.subarray(0, SEED_BYTES)]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const derived = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  const publicKey = derived.subarray(PUBLIC_HEAD.length);
  // Mismatched halves would make signatures that no node accepts.
  if (!publicKey.equals(pair.subarray(SEED_BYTES))) return undefined;
  return {
    address: getBase58Decoder().decode(publicKey),
    sign: (message) => new Uint8Array(sign(null, message, privateKey)),
  };
}

function keyPairBytes(text: string): Buffer | undefined {
  try {
    const bytes = text.startsWith('[') ? numbersOf(JSON.parse(text)) : getBase58Encoder().encode(text);
    return bytes?.length === KEY_PAIR_BYTES ? Buffer.from(bytes) : undefined;
  } catch {
    return undefined;
  }
}

function numbersOf(value: unknown): number[] | undefined {
  const isByte = (one: unknown) => typeof one === 'number' && Number.isInteger(one) && one >= 0 && one <= 255;
  return Array.isArray(value) && value.every(isByte) ? value : undefined;
}

/** Checks a signature like the network's validators: no keys of small order, canonical encodings only. */
export function isSignedBy(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (!isStrictEd25519(publicKey, signature)) return false;
  try {
    const key = createPublicKey({
      key: Buffer.concat([PUBLIC_HEAD, publicKey]),
      format: 'der',
      type: 'spki',
    });
    return verify(null, message, key, signature);
  } catch {
    return false;
  }
}
