/**
 * Reads an answer that is there as a whole and as plain as nodes write them, in one pass. What is otherwise is left to the
 * scanner, which knows all of JSON.
 */
import { type JsonBytes, jsonBytes } from '../../domain/rpc/jsonBytes.ts';
import { BYTE, PlainJson } from '../../domain/rpc/plainJson.ts';
import type { ScannedAnswer, Span } from './answerScanner.ts';

const DEEPEST = 128;
const LIMITS = { depth: DEEPEST, members: Number.POSITIVE_INFINITY, unique: false };
const SPACES: ReadonlySet<number | undefined> = new Set([0x20, 0x0a, 0x0d, 0x09]);

const VERSION = jsonBytes('"jsonrpc":"2.0"');
const ID = jsonBytes('"id":');
const RESULT = jsonBytes('"result":');
const ERROR = jsonBytes('"error":');
/** Their first letters are all different. */
const LETTER = { version: 0x6a, id: 0x69, result: 0x72, error: 0x65 } as const;

/**
 * Tells each answer in its turn; what is told is the same object every time. Undefined: the scanner is to read all of it,
 * and what was told is void.
 */
export function readPlainAnswer(
  body: JsonBytes,
  take: (answer: ScannedAnswer) => void,
): { isBatch: boolean } | undefined {
  const reader = new AnswerReader(body);
  return reader.read(take) ? { isBatch: reader.isBatch } : undefined;
}

class AnswerReader {
  readonly isBatch: boolean;
  private readonly body: Buffer;
  private readonly json: PlainJson;
  private readonly answer: ScannedAnswer;
  private readonly id: Span = { start: 0, end: 0 };
  private readonly result: Span = { start: 0, end: 0 };
  private readonly error: Span = { start: 0, end: 0 };

  constructor(body: JsonBytes) {
    this.isBatch = body.bytes[0] === BYTE.array;
    this.body = body.bytes;
    this.json = new PlainJson(body, LIMITS);
    const none = { id: undefined, result: undefined, error: undefined };
    this.answer = { start: 0, end: 0, isObject: true, ...none, twice: false };
  }

  read(take: (answer: ScannedAnswer) => void): boolean {
    const { isBatch, json, body, answer } = this;
    if (isBatch) json.at = 1;
    do {
      if (!this.item(isBatch ? 2 : 1)) return false;
      take(answer);
    } while (isBatch && json.next(BYTE.comma));
    if (isBatch && !json.next(BYTE.arrayEnd)) return false;
    while (SPACES.has(body[json.at])) json.at += 1;
    return json.at === body.length;
  }

  private item(depth: number): boolean {
    const { json, answer } = this;
    answer.start = json.at;
    answer.id = undefined;
    answer.result = undefined;
    answer.error = undefined;
    answer.twice = false;
    if (!json.next(BYTE.object)) return false;
    do {
      if (!this.member(depth + 1)) return false;
    } while (json.next(BYTE.comma));
    if (!json.next(BYTE.objectEnd)) return false;
    answer.end = json.at;
    return true;
  }

  private member(depth: number): boolean {
    const { json, answer } = this;
    const letter = this.body[json.at + 1];
    if (letter === LETTER.version && json.word(VERSION)) return true;
    if (letter === LETTER.result && json.word(RESULT)) {
      answer.twice ||= answer.result !== undefined;
      answer.result = this.result;
      return this.place(this.result, depth);
    }
    if (letter === LETTER.id && json.word(ID)) {
      answer.twice ||= answer.id !== undefined;
      answer.id = this.id;
      return this.place(this.id, depth);
    }
    if (letter === LETTER.error && json.word(ERROR)) {
      answer.twice ||= answer.error !== undefined;
      answer.error = this.error;
      return this.place(this.error, depth);
    }
    return json.string() && json.next(BYTE.colon) && json.value(depth);
  }

  private place(span: Span, depth: number): boolean {
    const { json } = this;
    span.start = json.at;
    if (!json.value(depth)) return false;
    span.end = json.at;
    return true;
  }
}
