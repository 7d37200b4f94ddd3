/** Keys of payment networks, for fees and nodes: named in the file, held in the environment. */
import { bytesOfBase58 } from '../../domain/base58.ts';
import { familyOf, type WalletFamily } from '../../domain/wallets.ts';
import type { PaymentEntry } from './checkPayments.ts';
import { ConfigError } from './problems.ts';
import { nodeKeyNames } from './x402.ts';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const FORMS: Record<WalletFamily, string> = {
  evm: 'a private key of 64 hex digits, with or without 0x',
  solana: 'a key pair of 64 bytes, in base58 or as a JSON list of numbers',
};

/** `unset`: names of variables. `unusable`: lines of the form `NAME …; allowed: …`, never with a value in them. */
export function checkPaymentKeys(
  entries: readonly PaymentEntry[],
  secret: (name: string) => string | undefined,
): { unset: string[]; unusable: string[] } {
  const unset: string[] = [];
  const unusable: string[] = [];
  for (const entry of entries) {
    unset.push(...nodeKeyNames(entry).filter((name) => !secret(name)?.trim()));
    const { network, feePayerKeyEnv: name } = entry;
    const family = familyOf(network);
    if (name === undefined || family === undefined) continue;
    const value = secret(name)?.trim();
    const wanted = `allowed: ${FORMS[family]}, for ${network}`;
    if (!value) unset.push(name);
    else if (!IS_KEY[family](value)) unusable.push(`${name} holds no such key; ${wanted}`);
  }
  return { unset, unusable };
}

/** Throws ConfigError naming each variable that is missing or holds no key. */
export function requirePaymentKeys(
  entries: readonly PaymentEntry[],
  secret: (name: string) => string | undefined,
): void {
  const { unset, unusable } = checkPaymentKeys(entries, secret);
  const missing = unset.map((name) => `${name} is not set; allowed: the key that the configuration file names`);
  if (missing.length + unusable.length > 0) throw new ConfigError('environment', [...missing, ...unusable]);
}

const IS_KEY: Record<WalletFamily, (value: string) => boolean> = {
  evm(value) {
    if (!/^(0x)?[0-9a-fA-F]{64}$/.test(value)) return false;
    const key = BigInt(`0x${value.replace(/^0x/, '')}`);
    return key > 0n && key < ORDER;
  },
  solana: (value) => (value.startsWith('[') ? isByteList(value) : bytesOfBase58(value, 64) !== undefined),
};

function isByteList(value: string): boolean {
  return /^\[(\s*\d{1,3}\s*,){63}\s*\d{1,3}\s*\]$/.test(value) && value.match(/\d+/g)?.every(isByte) === true;
}

function isByte(digits: string): boolean {
  return Number(digits) <= 255;
}
