/** The value of a sign-in header: base64 of a JSON object, taken apart with bounds on all of it. */
import { SignInRefused } from './refused.ts';

/** Characters of the header's value. */
export const LONGEST_HEADER = 8_192;
const MOST_KEYS = 64;
const MOST_DEPTH = 4;

/** The standard alphabet with or without its padding; that of URLs is another encoding and is refused. */
const BASE64 = /^[A-Za-z0-9+/]+(={0,2})$/;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The object in it. Throws SignInRefused: parse error, or invalid payload when it is JSON but no object. */
export function decodeHeader(header: string): Record<string, unknown> {
  const value = parseJson(decodeText(header));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SignInRefused('X402_SIGN_IN_INVALID_PAYLOAD', 'The sign-in must be a JSON object.');
  }
  return value as Record<string, unknown>;
}

function decodeText(header: string): string {
  if (header.length > LONGEST_HEADER) throw unreadable(`is longer than ${LONGEST_HEADER} characters`);
  const padding = BASE64.exec(header)?.[1];
  if (padding === undefined) throw unreadable('is not base64 of the standard alphabet');
  const bare = header.slice(0, header.length - padding.length);
  // One spelling a text: no half character, no padding of another length, no bits behind the last byte.
  const missing = (4 - (bare.length % 4)) % 4;
  const bytes = Buffer.from(bare, 'base64');
  const isWhole = missing < 3 && (padding === '' || padding.length === missing);
  if (!isWhole || bytes.toString('base64') !== bare + '='.repeat(missing)) {
    throw unreadable('is not base64 as it is written');
  }
  try {
    return UTF8.decode(bytes);
  } catch {
    throw unreadable('is not base64 of UTF-8');
  }
}

function parseJson(text: string): unknown {
  const names = countNames(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unreadable('is not base64 of JSON');
  }
  // Of a name that is written twice only the last is left: whoever reads the first one would read another sign-in.
  if (namesLeft(value) !== names) throw unreadable('names a field twice');
  return value;
}

/** The colons outside of strings: one a name in what is JSON. Bounds what JSON.parse gets to do. */
function countNames(text: string): number {
  let names = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') index = endOfString(text, index);
    else if (character === ':') names += 1;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (names > MOST_KEYS || depth > MOST_DEPTH) throw unreadable('has too many fields or levels');
  }
  return names;
}

function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1;
  return index;
}

function namesLeft(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inside = Object.values(value).reduce((sum: number, member) => sum + namesLeft(member), 0);
  return Array.isArray(value) ? inside : inside + Object.keys(value).length;
}

function unreadable(what: string): SignInRefused {
  return new SignInRefused('X402_SIGN_IN_PARSE_ERROR', `The sign-in header ${what}.`);
}
