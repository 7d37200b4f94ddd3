/** Reads base64 JSON headers unambiguously, with limits on all parts. */
import { decodeBase64 } from './base64.ts';

/** Characters of the header's value. */
export const MAX_HEADER_JSON_LENGTH = 8_192;
const MAX_NAMES = 256;
const MAX_DEPTH = 8;

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** `problem`: completes "The header ...". */
export type HeaderJson = { ok: true; value: unknown } | { ok: false; problem: string };

/** Any JSON value with unique member names. */
export function readHeaderJson(header: string): HeaderJson {
  if (header.length > MAX_HEADER_JSON_LENGTH) {
    return unreadable(`is longer than ${MAX_HEADER_JSON_LENGTH} characters`);
  }
  const bytes = decodeBase64(header);
  if (bytes === undefined) return unreadable('is not base64 of the standard alphabet in its one spelling');
  try {
    return readOnce(UTF8.decode(bytes));
  } catch {
    return unreadable('is not base64 of JSON in UTF-8');
  }
}

/** Throws SyntaxError for invalid JSON. */
function readOnce(text: string): HeaderJson {
  const { names, depth } = outline(text);
  // Checked before the value is built.
  if (names > MAX_NAMES || depth > MAX_DEPTH) return unreadable('has too many fields or levels');
  const value: unknown = JSON.parse(text);
  // JSON.parse keeps the last of duplicate names, and other readers may keep the first.
  return namesLeft(value) === names ? { ok: true, value } : unreadable('names a field twice');
}

/** Counts names by colons outside strings, and finds the deepest level, in valid JSON. */
function outline(text: string): { names: number; depth: number } {
  let names = 0;
  let level = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') index = endOfString(text, index);
    else if (character === ':') names += 1;
    else if (character === '{' || character === '[') level += 1;
    else if (character === '}' || character === ']') level -= 1;
    if (level > depth) depth = level;
  }
  return { names, depth };
}

function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1;
  return index;
}

function namesLeft(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inside = Object.values(value).reduce((sum: number, member: unknown) => sum + namesLeft(member), 0);
  return Array.isArray(value) ? inside : inside + Object.keys(value).length;
}

function unreadable(problem: string): HeaderJson {
  return { ok: false, problem };
}
