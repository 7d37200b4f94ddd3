/** Text that a wallet signs (EIP-4361, and its Solana variant), parsed strictly and rebuilt from its fields. */
import type { WalletFamily } from '../wallets.ts';
import {
  EVM_ADDRESS,
  isDomain,
  isRequestId,
  isStatement,
  isUri,
  NONCE,
  readDateTime,
  SOLANA_ADDRESS,
} from './grammar.ts';
import { SignInRefused } from './refused.ts';

/** Fields of the text, in its spelling. */
export interface SignInFields {
  family: WalletFamily;
  domain: string;
  address: string;
  statement: string | undefined;
  uri: string;
  /** `8453`, or a Solana genesis hash with or without `solana:`; undefined: no such line, on evm chain 1. */
  chain: string | undefined;
  nonce: string;
  issuedAt: string;
  expirationTime: string | undefined;
  notBefore: string | undefined;
  requestId: string | undefined;
  resources: readonly string[] | undefined;
  /** Without a statement: true for two blank lines, as in EIP-4361; false for a single one, as is usual on Solana. */
  isSpaced: boolean;
}

const MAX_TEXT_LENGTH = 4_096;
const MAX_RESOURCES = 32;
const PRINTABLE = /^[\n\x20-\x7e]+$/;
const TITLE = /^([^ ]+) wants you to sign in with your (Ethereum|Solana) account:$/;
const ACCOUNT: Record<WalletFamily, string> = { evm: 'Ethereum', solana: 'Solana' };

/** Throws SignInRefused: invalid message, or missing nonce. */
export function parseSignInText(text: string): SignInFields {
  if (text.length > MAX_TEXT_LENGTH) throw invalid(`is longer than ${MAX_TEXT_LENGTH} characters`);
  if (!PRINTABLE.test(text)) throw invalid('has characters other than printable ASCII and line feeds');
  const lines = createLines(text.split('\n'));
  const title = TITLE.exec(lines.next());
  if (!title) throw invalid('does not begin with "<domain> wants you to sign in with your … account:"');
  const family = title[2] === ACCOUNT.evm ? 'evm' : 'solana';
  const address = lines.next();
  const { statement, isSpaced } = readStatement(lines, family);
  const uri = required(lines, 'URI');
  if (required(lines, 'Version') !== '1') throw invalid('has a version other than 1');
  const fields: SignInFields = {
    family,
    domain: title[1] ?? '',
    address,
    statement,
    isSpaced,
    uri,
    chain: lines.field('Chain ID'),
    nonce: readNonce(lines),
    issuedAt: required(lines, 'Issued At'),
    expirationTime: lines.field('Expiration Time'),
    notBefore: lines.field('Not Before'),
    requestId: lines.field('Request ID'),
    resources: readResources(lines),
  };
  if (!lines.isAtEnd()) throw invalid('has lines that are unknown, repeated or out of order');
  checkFields(fields);
  if (writeSignInText(fields) !== text) throw invalid('is not what its fields would be written as');
  return fields;
}

/** Signatures are checked against this text only. */
export function writeSignInText(fields: SignInFields): string {
  const { statement, isSpaced, chain, expirationTime, notBefore, requestId, resources } = fields;
  const lines = [
    `${fields.domain} wants you to sign in with your ${ACCOUNT[fields.family]} account:`,
    fields.address,
    '',
  ];
  if (statement !== undefined) lines.push(statement, '');
  else if (isSpaced) lines.push('');
  lines.push(`URI: ${fields.uri}`, 'Version: 1');
  if (chain !== undefined) lines.push(`Chain ID: ${chain}`);
  lines.push(`Nonce: ${fields.nonce}`, `Issued At: ${fields.issuedAt}`);
  if (expirationTime !== undefined) lines.push(`Expiration Time: ${expirationTime}`);
  if (notBefore !== undefined) lines.push(`Not Before: ${notBefore}`);
  if (requestId !== undefined) lines.push(`Request ID: ${requestId}`);
  if (resources !== undefined) lines.push('Resources:', ...resources.map((uri) => `- ${uri}`));
  return lines.join('\n');
}

/** Checks each field against the grammar, whatever its source. Throws SignInRefused. */
export function checkFields(fields: SignInFields): void {
  const { address, resources = [] } = fields;
  if (!isDomain(fields.domain)) throw invalid('has a domain that is none');
  if (!(fields.family === 'evm' ? EVM_ADDRESS : SOLANA_ADDRESS).test(address)) {
    throw invalid('has an address that is none of its chain');
  }
  if (fields.statement !== undefined && !isStatement(fields.statement)) {
    throw invalid('has a statement with characters that EIP-4361 does not allow, or with too many');
  }
  if (!isUri(fields.uri)) throw invalid('has a URI that is none');
  if (!NONCE.test(fields.nonce)) throw invalid('needs a nonce of 8 to 128 letters and digits');
  for (const time of [fields.issuedAt, fields.expirationTime, fields.notBefore]) {
    if (time !== undefined && readDateTime(time) === undefined) throw invalid('has a time that is none');
  }
  if (fields.requestId !== undefined && !isRequestId(fields.requestId)) {
    throw invalid('has a request id with characters that EIP-4361 does not allow, or with too many');
  }
  if (resources.length > MAX_RESOURCES) throw invalid(`has more than ${MAX_RESOURCES} resources`);
  if (!resources.every(isUri)) throw invalid('has a resource that is no URI');
}

interface LineReader {
  /** The next line; empty after the last one. */
  next(): string;
  peek(ahead?: number): string | undefined;
  /** Value of the next line if it has this label, and consumes it; otherwise undefined. */
  field(label: string): string | undefined;
  /** Whether a later line has this label. */
  has(label: string): boolean;
  isAtEnd(): boolean;
}

function createLines(lines: readonly string[]): LineReader {
  let at = 0;
  return {
    next() {
      at += 1;
      return lines[at - 1] ?? '';
    },
    peek: (ahead = 0) => lines[at + ahead],
    field(label) {
      if (!lines[at]?.startsWith(`${label}: `)) return undefined;
      at += 1;
      return lines[at - 1]?.slice(label.length + 2);
    },
    has: (label) => lines.slice(at).some((line) => line.startsWith(`${label}:`)),
    isAtEnd: () => at >= lines.length,
  };
}

/** A statement is followed by a blank line; no later line is. */
function readStatement(lines: LineReader, family: WalletFamily): { statement: string | undefined; isSpaced: boolean } {
  if (lines.next() !== '') throw invalid('has no blank line after the address');
  if (lines.peek() !== '' && lines.peek(1) === '') {
    const statement = lines.next();
    lines.next();
    return { statement, isSpaced: true };
  }
  const isSpaced = lines.peek() === '';
  if (isSpaced) lines.next();
  else if (family === 'evm') throw invalid('has neither a statement nor a second blank line after the address');
  return { statement: undefined, isSpaced };
}

function required(lines: LineReader, label: string): string {
  const value = lines.field(label);
  if (value === undefined) throw invalid(`has no "${label}: " line where one belongs`);
  return value;
}

function readNonce(lines: LineReader): string {
  const nonce = lines.field('Nonce');
  if (nonce === '' || (nonce === undefined && !lines.has('Nonce'))) throw missingNonce();
  if (nonce === undefined) throw invalid('has no "Nonce: " line where one belongs');
  return nonce;
}

function readResources(lines: LineReader): string[] | undefined {
  if (lines.peek() !== 'Resources:') return undefined;
  lines.next();
  const resources: string[] = [];
  while (lines.peek()?.startsWith('- ')) resources.push(lines.next().slice(2));
  return resources;
}

export function missingNonce(): SignInRefused {
  return new SignInRefused('X402_SIGN_IN_MISSING_NONCE', 'The sign-in has no nonce.');
}

export function invalid(what: string): SignInRefused {
  return new SignInRefused('X402_SIGN_IN_INVALID_MESSAGE', `The sign-in message ${what}.`);
}
