/** Valid sign-ins in all four forms, signed by new keys and issued now. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { base58 } from '@scure/base';
import type { Hex } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { Config } from '../../infra/config/config.ts';

export type Sent = Record<string, unknown>;
export const FORMS = ['evm text', 'evm fields', 'Solana text', 'Solana fields'] as const;
export type Form = (typeof FORMS)[number];

export const DOMAIN = 'api.example.com';
const URI = 'https://api.example.com/api/v1/models';
export const BASE = 'eip155:8453';
export const GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';
export const SOLANA = `solana:${GENESIS}`;

export interface SolanaWallet {
  address: string;
  sign(message: Uint8Array): Buffer;
}

export type SigningWallet = PrivateKeyAccount | SolanaWallet;

/** Adds the domain of these sign-ins to a configuration. */
export function takingSignIns(config: Config): Config {
  return { ...config, x402: { ...config.x402, signInDomains: [DOMAIN, ...config.x402.signInDomains] } };
}

/** Header value of a new sign-in, valid once. */
export async function signInOf(wallet: SigningWallet): Promise<string> {
  return encode(await signed('signMessage' in wallet ? 'evm text' : 'Solana text', wallet));
}

export function newEvmWallet(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey());
}

export function newSolanaWallet(): SolanaWallet {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return { address: base58.encode(rawKey(publicKey)), sign: (message) => sign(null, message, privateKey) };
}

function rawKey(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' }).subarray(-32);
}

export function newNonce(): string {
  return randomBytes(8).toString('hex');
}

export interface Terms {
  nonce: string;
  nowMs: number;
}

/** One sign-in of this form. Returns the header's content. */
export async function signed(form: Form, wallet: SigningWallet, terms: Partial<Terms> = {}): Promise<Sent> {
  const { nonce = newNonce(), nowMs = Date.now() } = terms;
  const message = textOf(form, wallet.address, { nonce, nowMs });
  const signature = await signText(wallet, message);
  const isSolana = form.startsWith('Solana');
  if (form.endsWith('text')) {
    const chain = isSolana ? { type: 'ed25519' } : { chainId: 8453 };
    return { address: wallet.address, message, signature, timestamp: nowMs, ...chain };
  }
  return {
    ...{ domain: DOMAIN, address: wallet.address, statement: 'Sign in to Farebox', uri: URI, version: '1' },
    ...{ chainId: isSolana ? SOLANA : BASE, type: isSolana ? 'ed25519' : 'eip191', nonce },
    ...{ issuedAt: iso(nowMs), expirationTime: iso(nowMs + 300_000), signature },
  };
}

export function signText(wallet: SigningWallet, message: string): Promise<Hex> | string {
  return 'signMessage' in wallet ? wallet.signMessage({ message }) : base58.encode(wallet.sign(Buffer.from(message)));
}

export function textOf(form: Form, address: string, { nonce, nowMs }: Terms): string {
  const isSolana = form.startsWith('Solana');
  return `${DOMAIN} wants you to sign in with your ${isSolana ? 'Solana' : 'Ethereum'} account:
${address}

Sign in to Farebox

URI: ${URI}
Version: 1
Chain ID: ${isSolana ? GENESIS : 8453}
Nonce: ${nonce}
Issued At: ${iso(nowMs)}
Expiration Time: ${iso(nowMs + 300_000)}`;
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function encode(sent: unknown): string {
  return Buffer.from(JSON.stringify(sent)).toString('base64');
}
