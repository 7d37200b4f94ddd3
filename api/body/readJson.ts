/** A JSON body: bounded while it is read, parsed once it is known to be harmless. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FareboxError } from '../../domain/errors.ts';
import { parseInTurns } from '../../engines/text/parseInTurns.ts';
import type { Holding } from '../../infra/byteBudget.ts';
import { BodyBuffer } from './bodyBuffer.ts';
import { takeChunks } from './bodyStream.ts';
import { createJsonScanner, JSON_LIMITS, type JsonExcess } from './jsonScanner.ts';
import { bodyTooLarge } from './tooLarge.ts';

const READ_TIMEOUT_MS = 60_000;
/** Less than this is parsed and checked in a few milliseconds, whatever it is. */
const QUICK_BYTES = 128 * 1024;

/**
 * Throws `body_too_large`, `invalid_json`, `invalid_request` for one that is too deep or has too many members, and
 * `unavailable` where the process holds too many bytes of bodies.
 */
export async function readJson(
  request: IncomingMessage,
  { maxBytes, holding }: { maxBytes: number; holding: Holding },
): Promise<unknown> {
  const scanner = createJsonScanner();
  const body = new BodyBuffer({ maxBytes, holding });
  await takeChunks(request, { maxBytes, timeoutMs: READ_TIMEOUT_MS, tooLarge: bodyTooLarge }, (chunk) => {
    const excess = scanner.scan(chunk);
    if (excess) throw tooComplex(excess);
    body.append(chunk);
  });
  const bytes = body.bytes();
  if (bytes.length <= QUICK_BYTES) return parseJson(bytes);
  // A large body is scanned, parsed and checked in turns of its own: each is short, together they are a stall.
  await nextTurn();
  const value = await parseInTurns(bytes).catch(() => {
    throw invalidJson();
  });
  await nextTurn();
  return value;
}

/** `__proto__` becomes an own property, as any other name; of a name given twice the last value counts. */
export function parseJson(bytes: Buffer): unknown {
  return parseText(decodeUtf8(bytes));
}

function decodeUtf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw invalidJson();
  return bytes.toString('utf8');
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
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
