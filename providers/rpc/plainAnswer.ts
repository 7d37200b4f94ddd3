/**
 * Reads an answer that is there as a whole and as plain as nodes write them, in one pass. What is otherwise is left to the
 * scanner, which knows all of JSON.
 */
import { BYTE, bytesOf, PlainJson } from '../../domain/rpc/plainJson.ts';
import type { Scanned, ScannedAnswer, Span } from './answerScanner.ts';

const DEEPEST = 128;
const LIMITS = { depth: DEEPEST, members: Number.POSITIVE_INFINITY, unique: false };
const SPACES: ReadonlySet<number | undefined> = new Set([0x20, 0x0a, 0x0d, 0x09]);

const ID = bytesOf('"id":');
const RESULT = bytesOf('"result":');
const ERROR = bytesOf('"error":');

/** Undefined: the scanner is to read it. */
export function readPlainAnswer(body: Buffer): Scanned | undefined {
  const json = new PlainJson(body, LIMITS);
  const isBatch = body[0] === BYTE.array;
  const answers: ScannedAnswer[] = [];
  if (isBatch) json.at = 1;
  do {
    const answer = readItem(json, isBatch ? 2 : 1);
    if (answer === undefined) return undefined;
    answers.push(answer);
  } while (isBatch && json.next(BYTE.comma));
  if (isBatch && !json.next(BYTE.arrayEnd)) return undefined;
  while (SPACES.has(body[json.at])) json.at += 1;
  return json.at === body.length ? { isBatch, answers } : undefined;
}

function readItem(json: PlainJson, depth: number): ScannedAnswer | undefined {
  const start = json.at;
  let id: Span | undefined;
  let result: Span | undefined;
  let error: Span | undefined;
  let twice = false;
  if (!json.next(BYTE.object)) return undefined;
  do {
    const name = json.at;
    if (!json.string() || !json.next(BYTE.colon)) return undefined;
    const from = json.at;
    if (!json.value(depth + 1)) return undefined;
    if (json.says(RESULT, name)) {
      twice ||= result !== undefined;
      result = { start: from, end: json.at };
    } else if (json.says(ID, name)) {
      twice ||= id !== undefined;
      id = { start: from, end: json.at };
    } else if (json.says(ERROR, name)) {
      twice ||= error !== undefined;
      error = { start: from, end: json.at };
    }
  } while (json.next(BYTE.comma));
  if (!json.next(BYTE.objectEnd)) return undefined;
  return { start, end: json.at, isObject: true, id, result, error, twice };
}
