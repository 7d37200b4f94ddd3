/** The key with which this service pays the fees of transactions, and Ed25519 as Solana wants it. */
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { getBase58Decoder, getBase58Encoder } from '@solana/kit';
import { isStrictEd25519 } from '../../../domain/ed25519.ts';

export interface FeeKey {
  /** Base58. */
  address: string;
  /** Always the same for the same message: a transaction's name is known before it is handed in. */
  sign(message: Uint8Array): Uint8Array;
}

const SEED_BYTES = 32;
const KEY_PAIR_BYTES = 64;
/** What stands before a raw key in DER (RFC 8410). */
const PRIVATE_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** Undefined unless the text is a key pair: 64 bytes in base58, or as the JSON array that Solana's tools keep in files. */
export function readFeeKey(text: string): FeeKey | undefined {
  const pair = keyPairBytes(text.trim());
  if (pair === undefined) return undefined;
  const der = Buffer.concat([PRIVATE_HEAD, pair.subarray(0, SEED_BYTES)]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const derived = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  const publicKey = derived.subarray(PUBLIC_HEAD.length);
  // A file put together from two keys would sign what nobody takes.
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

/** By the rules of the network's own validators, who take no key of small order and no second spelling. */
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
