/** The two forms of a sign-in (WALLET-1): with the signed text, or with its fields only (CAIP-122). */

import { readHeaderJson } from '../headerJson.ts';
import { familyOf } from '../wallets.ts';
import { SignInRefused } from './refused.ts';
import { checkFields, invalid, missingNonce, parseSignInText, type SignInFields } from './text.ts';

const TYPES = ['eip191', 'eip1271', 'ed25519'] as const;
const SCHEMES = ['eip191', 'eip1271', 'eip6492', 'siws'] as const;

export interface SignInPayload {
  fields: SignInFields;
  /** Whether the client sent the text itself, with the spelling of every field. */
  hasText: boolean;
  address: string;
  signature: string;
  /** As sent: any type in the form with the text, a string in the other. */
  chainId: unknown;
  type: (typeof TYPES)[number] | undefined;
  signatureScheme: (typeof SCHEMES)[number] | undefined;
  /** Unix ms. */
  timestamp: number | undefined;
}

type SignInObject = Record<string, unknown>;

/** Fields that only the form without a text has. */
const STRUCTURED = [
  ...['domain', 'uri', 'version', 'nonce', 'issuedAt', 'statement'],
  ...['expirationTime', 'notBefore', 'requestId', 'resources'],
];

/** Ignores unknown fields. Throws SignInRefused. */
export function readPayload(header: string): SignInPayload {
  const sent = decodeHeader(header);
  const hasText = !isAbsent(sent.message);
  if (hasText && STRUCTURED.some((name) => !isAbsent(sent[name]))) {
    throw payload('must have either a message, or the fields of one');
  }
  const shared = {
    hasText,
    address: text(sent, 'address'),
    signature: text(sent, 'signature'),
    chainId: sent.chainId ?? undefined,
    type: oneOf(sent, 'type', TYPES),
    signatureScheme: oneOf(sent, 'signatureScheme', SCHEMES),
    timestamp: timestamp(sent),
  };
  return { ...shared, fields: hasText ? parseSignInText(text(sent, 'message')) : structured(sent) };
}

/** CAIP-2 name of the payload's chain; undefined: unknown form. The form with the text also has short names. */
export function networkOfPayload({ chainId, hasText }: SignInPayload): string | undefined {
  if (hasText && typeof chainId === 'number') return caip2(`eip155:${chainId}`);
  if (typeof chainId !== 'string') return undefined;
  return caip2(hasText && /^[0-9]+$/.test(chainId) ? `eip155:${chainId}` : chainId);
}

/** CAIP-2 name of the text's chain; undefined: unknown form. */
export function networkOfText({ family, chain }: SignInFields): string | undefined {
  if (family === 'evm') return caip2(`eip155:${chain ?? '1'}`);
  if (chain === undefined) return undefined;
  return caip2(chain.startsWith('solana:') ? chain : `solana:${chain}`);
}

function caip2(network: string): string | undefined {
  return familyOf(network) === undefined ? undefined : network;
}

function structured(sent: SignInObject): SignInFields {
  const [domain, uri, issuedAt] = [text(sent, 'domain'), text(sent, 'uri'), text(sent, 'issuedAt')];
  if (isAbsent(sent.chainId)) throw payload('needs a chainId');
  const nonce = optional(sent, 'nonce');
  if (nonce === undefined || nonce === '') throw missingNonce();
  const chainId = typeof sent.chainId === 'string' ? sent.chainId : '';
  const family = familyOf(chainId);
  if (family === undefined) throw invalidChainId();
  if ((optional(sent, 'version') ?? '1') !== '1') throw invalid('has a version other than 1');
  const resources = uris(sent);
  const fields: SignInFields = {
    family,
    domain,
    address: text(sent, 'address'),
    statement: optional(sent, 'statement'),
    uri,
    chain: chainId.slice(chainId.indexOf(':') + 1),
    nonce,
    issuedAt,
    expirationTime: optional(sent, 'expirationTime'),
    notBefore: optional(sent, 'notBefore'),
    requestId: optional(sent, 'requestId'),
    // An empty list has a line in the text of evm wallets and none in that of Solana wallets.
    resources: family === 'solana' && resources?.length === 0 ? undefined : resources,
    isSpaced: family === 'evm',
  };
  checkFields(fields);
  return fields;
}

export function invalidChainId(): SignInRefused {
  return new SignInRefused(
    'X402_SIGN_IN_INVALID_CHAIN_ID',
    'The sign-in names its chain in a form that is unknown; write it as "eip155:8453".',
  );
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function text(sent: SignInObject, name: string): string {
  const value = sent[name];
  if (typeof value !== 'string' || value === '') throw payload(`needs a string as ${name}`);
  return value;
}

function optional(sent: SignInObject, name: string): string | undefined {
  const value = sent[name];
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'string') throw payload(`needs a string as ${name}`);
  return value;
}

function oneOf<T extends string>(sent: SignInObject, name: string, choices: readonly T[]): T | undefined {
  const value = sent[name];
  if (isAbsent(value)) return undefined;
  const chosen = choices.find((choice) => choice === value);
  if (chosen === undefined) throw payload(`needs one of ${choices.join(', ')} as ${name}`);
  return chosen;
}

function uris(sent: SignInObject): string[] | undefined {
  const { resources } = sent;
  if (isAbsent(resources)) return undefined;
  if (!Array.isArray(resources) || !resources.every((uri) => typeof uri === 'string')) {
    throw payload('needs a list of strings as resources');
  }
  return resources;
}

function timestamp({ timestamp: value }: SignInObject): number | undefined {
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw payload('needs Unix milliseconds as timestamp');
  }
  return value;
}

function payload(what: string): SignInRefused {
  return new SignInRefused('X402_SIGN_IN_INVALID_PAYLOAD', `The sign-in ${what}.`);
}

/** Throws SignInRefused: parse error, or invalid payload for JSON that is not an object. */
function decodeHeader(header: string): Record<string, unknown> {
  const reading = readHeaderJson(header);
  if (!reading.ok) {
    throw new SignInRefused('X402_SIGN_IN_PARSE_ERROR', `The sign-in header ${reading.problem}.`);
  }
  const { value } = reading;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SignInRefused('X402_SIGN_IN_INVALID_PAYLOAD', 'The sign-in must be a JSON object.');
  }
  return value as Record<string, unknown>;
}
