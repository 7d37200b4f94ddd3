/** Derives a transaction's id from its submitted bytes, before any node has answered. */
import { keccak256 } from 'viem/utils';
import { fromBase58, toBase58 } from '../../domain/base58.ts';

/**
 * EVM: 0x and 64 hex digits; Solana: the first signature in base58. Undefined: no id, or one that needs more than the
 * submitted bytes. `params`: JSON text.
 */
export function transactionHash(method: string, params: string | undefined): string | undefined {
  if (params === undefined) return undefined;
  const [sent, options] = JSON.parse(params) as unknown[];
  if (typeof sent !== 'string') return undefined;
  if (method === 'eth_sendRawTransaction') return evmHash(sent);
  return method === 'sendTransaction' ? solanaSignature(sent, encodingOf(options)) : undefined;
}

/** Nodes take at most 128 KiB. */
const MAX_HEX = 2 + 2 * 131_072;
/**
 * EIP-2718: these types, and legacy transactions (an RLP list, from 0xc0), are hashed as sent. Blob transactions (3)
 * are sent with more than is hashed, and zkSync's own (0x71) is hashed in two halves.
 */
const TYPES = new Set([0x01, 0x02, 0x04]);

function evmHash(hex: string): string | undefined {
  if (hex.length > MAX_HEX || !/^0x(?:[0-9a-fA-F]{2})+$/.test(hex)) return undefined;
  const type = Number.parseInt(hex.slice(2, 4), 16);
  return type >= 0xc0 || TYPES.has(type) ? keccak256(hex as `0x${string}`) : undefined;
}

/** A transaction has at most 1,232 bytes, or 1,683 characters in base58. */
const MAX_CHARACTERS = 1_700;
const SIGNATURE_BYTES = 64;

function solanaSignature(sent: string, encoding: string): string | undefined {
  if (sent.length > MAX_CHARACTERS) return undefined;
  const bytes = encoding === 'base64' ? Buffer.from(sent, 'base64') : fromBase58(sent);
  // The count of signatures is one byte: a transaction has room for eighteen.
  const [count = 0] = bytes ?? [];
  if (!bytes || count === 0 || count > 0x7f || bytes.length < 1 + SIGNATURE_BYTES) return undefined;
  return toBase58(bytes.subarray(1, 1 + SIGNATURE_BYTES));
}

function encodingOf(options: unknown): string {
  const encoding = (options as { encoding?: unknown } | null | undefined)?.encoding;
  return typeof encoding === 'string' ? encoding : 'base58';
}
