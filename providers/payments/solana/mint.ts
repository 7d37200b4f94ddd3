/** Decodes accounts of the token programs: SPL Token, and Token-2022 with appended extensions. */
import { getMintDecoder, getTokenDecoder } from '@solana-program/token';

const MINT_BYTES = 82;
const TOKEN_ACCOUNT_BYTES = 165;
/** A Token-2022 mint with extensions is padded to the size of a token account, followed by its kind. */
const KIND_AT = TOKEN_ACCOUNT_BYTES;
const EXTENSIONS_AT = KIND_AT + 1;
const MINT_KIND = 1;
const EXTENSION_HEAD_BYTES = 4;

/** Extensions that do not affect transfers: close authority, pointers to metadata and groups, and their content. */
const HARMLESS_EXTENSIONS = new Set([3, 18, 19, 20, 21, 22, 23]);

/** Whether transfers move the stated amount to the recipient: no fees, no hooks, no authority to take it back. */
export function isPlainMint(data: Buffer, decimals: number): boolean {
  if (data.length < MINT_BYTES) return false;
  const mint = getMintDecoder().decode(data.subarray(0, MINT_BYTES));
  if (!mint.isInitialized || mint.decimals !== decimals) return false;
  if (data.length === MINT_BYTES) return true;
  if (data[KIND_AT] !== MINT_KIND) return false;
  return extensionsOf(data).every((extension) => HARMLESS_EXTENSIONS.has(extension));
}

function extensionsOf(data: Buffer): number[] {
  const found: number[] = [];
  let at = EXTENSIONS_AT;
  while (at + EXTENSION_HEAD_BYTES <= data.length) {
    const kind = data.readUInt16LE(at);
    if (kind === 0) break;
    found.push(kind);
    at += EXTENSION_HEAD_BYTES + data.readUInt16LE(at + 2);
  }
  return found;
}

export interface TokenAccount {
  owner: string;
  mint: string;
  amount: bigint;
}

export function readTokenAccount(data: Buffer): TokenAccount | undefined {
  if (data.length < TOKEN_ACCOUNT_BYTES) return undefined;
  const { owner, mint, amount } = getTokenDecoder().decode(data.subarray(0, TOKEN_ACCOUNT_BYTES));
  return { owner, mint, amount };
}
