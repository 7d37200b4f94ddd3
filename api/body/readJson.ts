/** Reads a JSON body: bounded while it is read, parsed once it is known to be harmless. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FareboxError } from '../../domain/errors.ts';
import { JsonBytes } from '../../domain/json/jsonBytes.ts';
import { JsonProblem, NO_LIMITS } from '../../domain/json/jsonLimits.ts';
import { JsonReader, MORE } from '../../domain/json/jsonReader.ts';
import { parseInTurns } from '../../engines/text/parseInTurns.ts';
import type { ReservedBytes } from '../../infra/byteBudget.ts';
import { BodyBuffer } from './bodyBuffer.ts';
import type { BodyReader } from './bodyReader.ts';
import { bodyTooLarge } from './tooLarge.ts';

const READ_TIMEOUT_MS = 60_000;
/** Smaller bodies are parsed and checked in a few milliseconds, whatever they contain. */
const QUICK_BYTES = 128 * 1024;
/**
 * 20,000 distinct names are parsed in 5 ms; 50,000 would already take 20 to 30 ms of a core. Values that fit no schema cost
 * more: each is a finding, and 100,000 findings take a third of a second, or more arguments than a call can have.
 */
export const JSON_LIMITS = { ...NO_LIMITS, depth: 64, keys: 20_000, values: 20_000 };

/** Reads a body that is kept in memory. */
export interface RawOptions {
  bodyReader: BodyReader;
  maxBytes: number;
  reservedBytes: ReservedBytes;
}

/**
 * Throws `body_too_large`, `invalid_json`, `invalid_request` for too deep a body or too many members, and `unavailable`
 * when the process holds too many bytes of bodies.
 */
export async function readJson(
  request: IncomingMessage,
  { bodyReader, maxBytes, reservedBytes }: RawOptions,
): Promise<unknown> {
  const reader = new JsonReader(JSON_LIMITS);
  reader.reportedDepth = -1;
  let isJson = true;
  const body = new BodyBuffer({ maxBytes, reservedBytes });
  const limits = { maxBytes, timeoutMs: READ_TIMEOUT_MS, tooLarge: bodyTooLarge };
  await bodyReader.take(request, limits, (chunk) => {
    isJson &&= isWithinLimits(reader, chunk);
    body.append(chunk);
  });
  if (!isJson) throw invalidJson();
  const bytes = body.bytes();
  if (bytes.length <= QUICK_BYTES) return parseJson(bytes);
  // A large body is scanned, parsed and checked in separate turns of the event loop, which together would block it.
  await nextTurn();
  const value = await parseInTurns(bytes).catch(() => {
    throw invalidJson();
  });
  await nextTurn();
  return value;
}

function isWithinLimits(reader: JsonReader, chunk: Buffer): boolean {
  try {
    reader.write(new JsonBytes(chunk));
    return reader.next() === MORE;
  } catch (error) {
    return !isNoJson(error);
  }
}

/** Checks the end of a body, for text after its value. Throws the error for a body that is too complex. */
export function isNoJson(error: unknown): boolean {
  if (!(error instanceof JsonProblem)) throw error;
  const excess = EXCESS_WORDS[error.problem];
  if (excess === undefined) return true;
  throw new FareboxError({
    code: 'invalid_request',
    message: `The JSON body is too complex: ${excess}.`,
  });
}

const EXCESS_WORDS: Partial<Record<JsonProblem['problem'], string>> = {
  depth: `nested more than ${JSON_LIMITS.depth} levels deep`,
  keys: `more than ${JSON_LIMITS.keys.toLocaleString('en')} keys`,
  values: `more than ${JSON_LIMITS.values.toLocaleString('en')} values`,
};

/** `__proto__` becomes an own property like any other name; of duplicate names the last value counts. */
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
