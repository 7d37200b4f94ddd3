/** Rules of a sign-in that need neither the signature nor stored nonces, in the order of their checks (WALLET-2). */
import type { Wallet } from '../wallets.ts';
import { hostOfDomain, hostOfUri, readDateTime } from './grammar.ts';
import { invalidChainId, networkOfPayload, networkOfText, type SignInPayload } from './payload.ts';
import { type SignInCode, SignInRefused } from './refused.ts';
import { type SignInFields, writeSignInText } from './text.ts';

export const MAX_AGE_MS = 300_000;
export const MAX_AHEAD_MS = 30_000;
const TIMESTAMP_WITHIN_MS = 30_000;
/** A nonce is stored until everything signed with it is too old, plus the difference that clocks may have. */
export const REMEMBERED_MS = MAX_AGE_MS + 30_000;

export interface SignInRules {
  nowMs: number;
  /** Host names without port, in lower case. */
  domains: readonly string[];
  /** CAIP-2. */
  networks: readonly string[];
}

/** Sign-in whose signature and nonce are not checked yet. */
export interface UnverifiedSignIn {
  wallet: Wallet;
  /** CAIP-2. */
  network: string;
  nonce: string;
  /** Unix ms after which the nonce may be forgotten. */
  rememberUntilMs: number;
  /** As sent: hex, base58 or base64. */
  signature: string;
  /** Kind of wallet by the client's claim; undefined: no claim, or one that applies to all evm wallets. */
  signedBy: 'key' | 'contract' | undefined;
  fields: SignInFields;
  /** Whether the client sent the text itself, with the spelling of every field. */
  hasText: boolean;
}

/** Throws SignInRefused. */
export function readSignIn(payload: SignInPayload, rules: SignInRules): UnverifiedSignIn {
  const { fields, hasText, signature } = payload;
  if (spelled(payload.address, fields) !== spelled(fields.address, fields)) {
    throw refused('ADDRESS_MISMATCH', 'The address of the sign-in is not the one in its message.');
  }
  const network = checkChain(payload, rules.networks);
  checkPlace(fields, rules.domains);
  const issuedAtMs = checkTimes(payload, rules.nowMs);
  return {
    wallet: { family: fields.family, address: spelled(fields.address, fields) },
    network,
    nonce: fields.nonce,
    rememberUntilMs: issuedAtMs + REMEMBERED_MS,
    signature,
    signedBy: signedBy(payload),
    fields,
    hasText,
  };
}

/**
 * Texts that may have been signed: more than one only when the fields alone were sent and writers differ. `checksummed`
 * returns the EIP-55 spelling of an evm address, which libraries write whatever spelling they got.
 */
export function signedTexts({ fields, hasText }: UnverifiedSignIn, checksummed: (address: string) => string): string[] {
  if (hasText) return [writeSignInText(fields)];
  if (fields.family === 'evm') {
    const spellings = new Set([checksummed(fields.address), fields.address]);
    return [...spellings].map((address) => writeSignInText({ ...fields, address }));
  }
  const plain = writeSignInText(fields);
  return fields.statement === undefined ? [plain, writeSignInText({ ...fields, isSpaced: true })] : [plain];
}

function signedBy({ type, signatureScheme }: SignInPayload): UnverifiedSignIn['signedBy'] {
  if (signatureScheme === 'eip191') return 'key';
  const isContract = signatureScheme === 'eip1271' || signatureScheme === 'eip6492' || type === 'eip1271';
  return isContract ? 'contract' : undefined;
}

function spelled(address: string, { family }: SignInFields): string {
  return family === 'evm' ? address.toLowerCase() : address;
}

function checkChain(payload: SignInPayload, networks: readonly string[]): string {
  const { fields, type, signatureScheme, hasText } = payload;
  const named = networkOfPayload(payload);
  const signed = networkOfText(fields);
  const isNamed = payload.chainId !== undefined;
  const hasLine = fields.chain !== undefined;
  if ((isNamed && named === undefined) || (hasLine && signed === undefined)) throw invalidChainId();
  if (isNamed && named !== signed) throw chainMismatch('The chain of the sign-in is not the one in its message.');
  const isSolana = fields.family === 'solana';
  if ((type ?? (hasText ? 'eip191' : undefined)) !== undefined && (type === 'ed25519') !== isSolana) {
    throw chainMismatch('The type must be "ed25519" on Solana and nowhere else.');
  }
  if (signatureScheme !== undefined && (signatureScheme === 'siws') !== isSolana) {
    throw chainMismatch('The signatureScheme is one of another chain.');
  }
  if (signed === undefined || !networks.includes(signed)) {
    throw refused('UNSUPPORTED_CHAIN', `Wallets sign in on ${networks.join(' and ')}.`);
  }
  return signed;
}

/** Compares whole hosts: neither a prefix of another name nor a user before an @ matches. */
function checkPlace({ domain, uri }: SignInFields, domains: readonly string[]): void {
  const host = hostOfDomain(domain);
  if (host === undefined || !domains.includes(host)) {
    throw refused('DOMAIN_MISMATCH', `Sign-ins are for the domain ${domains[0] ?? ''}, not for "${domain}".`);
  }
  const target = hostOfUri(uri);
  if (target === undefined || !domains.includes(target)) {
    throw refused('DOMAIN_MISMATCH', `The URI of the sign-in must be one of ${domains[0] ?? ''}.`);
  }
}

/** Returns the issue time in Unix ms. */
function checkTimes({ fields, timestamp }: SignInPayload, nowMs: number): number {
  const issuedAtMs = readDateTime(fields.issuedAt) ?? Number.NaN;
  const expiresAtMs = timeOr(fields.expirationTime, Number.POSITIVE_INFINITY);
  const startsAtMs = timeOr(fields.notBefore, Number.NEGATIVE_INFINITY);
  if (timestamp !== undefined && Math.abs(timestamp - issuedAtMs) > TIMESTAMP_WITHIN_MS) {
    throw refused('TIMESTAMP_MISMATCH', 'The timestamp is more than 30 seconds away from Issued At.');
  }
  // The negated comparison also refuses NaN.
  if (!(nowMs - issuedAtMs <= MAX_AGE_MS)) {
    throw refused('EXPIRED', 'The sign-in was issued more than 5 minutes ago; sign a new one.');
  }
  if (!(nowMs < expiresAtMs)) throw refused('EXPIRED', 'The sign-in has expired; sign a new one.');
  if (!(issuedAtMs - nowMs <= MAX_AHEAD_MS)) {
    throw refused('FUTURE_TIMESTAMP', 'The sign-in was issued more than 30 seconds in the future.');
  }
  if (!(nowMs >= startsAtMs)) throw refused('NOT_BEFORE', 'The sign-in is not valid yet.');
  return issuedAtMs;
}

function timeOr(text: string | undefined, otherwise: number): number {
  return text === undefined ? otherwise : (readDateTime(text) ?? Number.NaN);
}

function chainMismatch(message: string): SignInRefused {
  return refused('CHAIN_MISMATCH', message);
}

type ShortCode = SignInCode extends `X402_SIGN_IN_${infer Short}` ? Short : never;

function refused(code: ShortCode, message: string): SignInRefused {
  return new SignInRefused(`X402_SIGN_IN_${code}`, message);
}
