/**
 * Text that a wallet signs to get an API key (ACCOUNT-7). Its owner reads in it what the signature does and for which
 * domain. Its nonce ends with a code over the whole text, so that no other text is accepted and nothing has to be
 * stored for texts that nobody signs.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { BASE_PATH } from '../../domain/basePaths.ts';
import type { KeyType } from '../../domain/caller.ts';
import { FareboxError } from '../../domain/errors.ts';
import { readDateTime } from '../../domain/signIn/grammar.ts';
import { writeSignInText } from '../../domain/signIn/text.ts';
import { SOLANA_MAINNET, toWallet, type Wallet } from '../../domain/wallets.ts';
import { addressText } from '../auth/signIn/signedText.ts';

export const WEB3_KEY_PATH = '/api_keys/generate_web3_key';
const TOKEN_LIFE_MS = 15 * 60_000;
export const MAX_TOKEN_LENGTH = 4_000;

const PURPOSE = 'generate_web3_key';
const ID_CHARACTERS = 32;
const NONCE = /^Nonce: ([0-9a-f]{96})$/;
/** Chain id of an EIP-4361 text without a network. */
const DEFAULT_CHAIN = '1';

export interface TokenTerms {
  /** Undefined: the sender of the signature chooses. */
  keyType?: KeyType | undefined;
  /** Undefined: any wallet may sign it. */
  wallet?: Wallet | undefined;
}

export interface Web3Token extends TokenTerms {
  id: string;
  expiresAtMs: number;
}

export interface TokenIssuer {
  publicUrl: string;
  /** CAIP-2 networks on which wallets sign in. */
  signInNetworks: readonly string[];
}

/** `key`: signing key of the service (infra/postgres/signingKey.ts). */
export function issueToken(key: Buffer, place: TokenIssuer, terms: TokenTerms & { nowMs: number }): string {
  const id = randomBytes(ID_CHARACTERS / 2).toString('hex');
  const code = codeOf(key, writeToken(place, terms, id));
  return writeToken(place, terms, `${id}${code}`);
}

/** With an address the text is an EIP-4361 message, whose domain wallets show and compare with the page. */
function writeToken(
  { publicUrl, signInNetworks }: TokenIssuer,
  { keyType, wallet, nowMs }: TokenTerms & { nowMs: number },
  nonce: string,
): string {
  const domain = new URL(publicUrl).host;
  const uri = `${publicUrl}${BASE_PATH}${WEB3_KEY_PATH}`;
  const issuedAt = new Date(nowMs).toISOString();
  const expirationTime = new Date(nowMs + TOKEN_LIFE_MS).toISOString();
  if (wallet === undefined) {
    return [
      `${domain} wants you to create an API key with your wallet.`,
      ...['', statementOf(keyType), ''],
      ...[`URI: ${uri}`, 'Version: 1', `Nonce: ${nonce}`],
      ...[`Issued At: ${issuedAt}`, `Expiration Time: ${expirationTime}`],
    ].join('\n');
  }
  const { family } = wallet;
  return writeSignInText({
    ...{ family, domain, uri, nonce, issuedAt, expirationTime, statement: statementOf(keyType) },
    address: addressText(wallet),
    chain: chainOf(family, signInNetworks),
    ...{ notBefore: undefined, requestId: undefined, resources: undefined, isSpaced: true },
  });
}

function chainOf(family: Wallet['family'], networks: readonly string[]): string {
  const [space, usual] = family === 'evm' ? ['eip155:', DEFAULT_CHAIN] : ['solana:', SOLANA_MAINNET.slice(7)];
  return networks.find((network) => network.startsWith(space))?.slice(space.length) ?? usual;
}

const STATEMENTS: Record<KeyType, string> = {
  ADMIN: "This creates an API key of type ADMIN that can spend this wallet's credit.",
  INFERENCE: "This creates an API key of type INFERENCE that can spend this wallet's credit.",
};
const OPEN_STATEMENT = "This creates an API key, ADMIN or INFERENCE, that can spend this wallet's credit.";

function statementOf(keyType: KeyType | undefined): string {
  return keyType === undefined ? OPEN_STATEMENT : STATEMENTS[keyType];
}

/** Throws FareboxError `invalid_request`, with a message for each reason. */
export function readToken(key: Buffer, token: string, nowMs: number): Web3Token {
  const lines = token.split('\n');
  const [nonce, ...others] = lines.flatMap((line) => NONCE.exec(line)?.[1] ?? []);
  if (nonce === undefined || others.length > 0) throw refusedError('The token is malformed');
  const id = nonce.slice(0, ID_CHARACTERS);
  const expected = Buffer.from(codeOf(key, token.replace(nonce, id)));
  if (!timingSafeEqual(expected, Buffer.from(nonce.slice(ID_CHARACTERS)))) {
    throw refusedError('The token was changed, or is not of this service');
  }
  const value = (label: string) => lines.find((line) => line.startsWith(label))?.slice(label.length) ?? '';
  const expiresAtMs = readDateTime(value('Expiration Time: ')) ?? 0;
  if (nowMs >= expiresAtMs) throw refusedError('The token has expired');
  const keyType = (['ADMIN', 'INFERENCE'] as const).find((type) => lines.includes(STATEMENTS[type]));
  return { id, expiresAtMs, keyType, wallet: toWallet(lines[1] ?? '') };
}

/** Derived: the key itself also signs other texts. */
function codeOf(key: Buffer, text: string): string {
  const own = createHmac('sha256', key).update(PURPOSE).digest();
  return createHmac('sha256', own).update(text).digest('hex');
}

export function refusedError(message: string): FareboxError {
  return new FareboxError({ code: 'invalid_request', message });
}
