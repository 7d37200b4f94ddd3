/** Errors and parameter parsing shared by the methods of the Solana stand-in. */
import { type Address, getBase58Encoder, getBase64Encoder, isAddress } from '@solana/kit';
import type { Commitment, SolanaChain } from './solanaChain.ts';

/** A JSON-RPC error object, with the codes of Agave's JSON-RPC service. */
export class RpcFault extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export function invalidParams(message: string): RpcFault {
  return new RpcFault(-32602, message);
}

export type Params = readonly unknown[];
export type RpcMethod = (chain: SolanaChain, params: Params) => unknown;

export function addressAt(params: Params, index: number): Address {
  const given = params[index];
  if (typeof given !== 'string' || !isAddress(given)) throw invalidParams('Invalid param: Invalid');
  return given;
}

export function textAt(params: Params, index: number): string {
  const given = params[index];
  if (typeof given !== 'string') throw invalidParams('Invalid params: invalid type, expected a string');
  return given;
}

export function optionsAt(params: Params, index: number): Record<string, unknown> {
  const given = params[index] ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) throw invalidParams('Invalid params: expected struct');
  return given as Record<string, unknown>;
}

/** Commitment of a call. Default: finalized, as in the whole API. */
export function commitmentOf(options: Record<string, unknown>, usual: Commitment = 'finalized'): Commitment {
  const named = options.commitment ?? options.preflightCommitment ?? usual;
  if (named !== 'processed' && named !== 'confirmed' && named !== 'finalized') {
    throw invalidParams(`Invalid params: unknown variant \`${String(named)}\``);
  }
  return named;
}

/** Wraps a value as `{ context, value }`. Throws while the bank is behind `minContextSlot`. */
export function inContext(chain: SolanaChain, options: Record<string, unknown>, value: unknown): unknown {
  const slot = chain.slot(commitmentOf(options));
  const wanted = options.minContextSlot;
  if (typeof wanted === 'number' && BigInt(wanted) > slot) {
    throw new RpcFault(-32016, 'Minimum context slot has not been reached', { contextSlot: slot });
  }
  return { context: { slot, apiVersion: API_VERSION }, value };
}

export const API_VERSION = '2.3.13';

export function bytesOf(text: string, encoding: unknown): Uint8Array {
  try {
    return new Uint8Array((encoding === 'base64' ? getBase64Encoder() : getBase58Encoder()).encode(text));
  } catch {
    throw invalidParams(`invalid ${encoding === 'base64' ? 'base64' : 'base58'} encoding`);
  }
}
