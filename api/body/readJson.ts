/** A JSON body: bounded while it is read, parsed once it is known to be harmless. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FareboxError } from '../../domain/errors.ts';
import { takeChunks } from './bodyStream.ts';
import { createJsonScanner, JSON_LIMITS, type JsonExcess } from './jsonScanner.ts';
import { bodyTooLarge } from './tooLarge.ts';

const READ_TIMEOUT_MS = 60_000;
/** Less than this is parsed and checked in a few milliseconds, whatever it is. */
const QUICK_BYTES = 128 * 1024;

/** Throws `body_too_large`, `invalid_json`, or `invalid_request` for one that is too deep or has too many members. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const scanner = createJsonScanner();
  const chunks: Buffer[] = [];
  await takeChunks(request, { maxBytes, timeoutMs: READ_TIMEOUT_MS, tooLarge: bodyTooLarge }, (chunk) => {
    const excess = scanner.scan(chunk);
    if (excess) throw tooComplex(excess);
    chunks.push(chunk);
  });
  const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
  if (bytes.length <= QUICK_BYTES) return parseJson(bytes);
  // A large body is scanned, parsed and checked in turns of its own: each is short, all together would be felt by others.
  await nextTurn();
  const value = parseJson(bytes);
  await nextTurn();
  return value;
}

/** `__proto__` becomes an own property, as any other name; of a name given twice the last value counts. */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalidJson();
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw invalidJson();
  }
}

export function invalidJson(): FareboxError {
  return new FareboxError({ code: 'invalid_json', message: 'Invalid JSON request' });
}

const EXCESS_WORDS: Record<JsonExcess, string> = {
  depth: `nested more than ${JSON_LIMITS.depth} levels deep`,
  keys: `more than ${JSON_LIMITS.keys.toLocaleString('en')} keys`,
  values: `more than ${JSON_LIMITS.values.toLocaleString('en')} values`,
};

export function tooComplex(excess: JsonExcess): FareboxError {
  return new FareboxError({
    code: 'invalid_request',
    message: `The JSON body is too complex: ${EXCESS_WORDS[excess]}.`,
  });
}
