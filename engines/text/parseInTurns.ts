/**
 * Parses a large JSON body as JSON.parse does, in short turns: at once, 35 MB of texts take up to a tenth of a second of
 * the event loop, and as much again for the memory that they need. Depth and members of what clients send were bounded by the
 * scanner before.
 */
import { isUtf8 } from 'node:buffer';
import { createTurnLimit } from '../../infra/turnLimit.ts';
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './jsonMarks.ts';

/** Well below a millisecond of work. */
const STEP_BYTES = 64 * 1024;

const LETTER_U = 0x75;
const WHITE_SPACE = new Set<number | undefined>([0x20, 0x09, 0x0a, 0x0d]);
const ENDS_LITERAL = new Set<number | undefined>([...WHITE_SPACE, COMMA, CLOSE_BRACKET, CLOSE_BRACE]);

/** Throws SyntaxError for what is no JSON in UTF-8, RangeError for what is nested too deeply. */
export async function parseInTurns(bytes: Buffer): Promise<unknown> {
  if (!isUtf8(bytes)) throw new SyntaxError('the text is not in UTF-8');
  const endTurn = createTurnLimit();
  const steps = new JsonText(bytes).parse();
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    const next = endTurn();
    if (next) await next;
  }
}

/** Each generator yields between two steps. */
class JsonText {
  readonly #bytes: Buffer;
  #at = 0;
  /** End of the step before. */
  #stepped = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  *parse(): Generator<void, unknown> {
    const value = yield* this.#value();
    yield* this.#skipSpace();
    if (this.#at < this.#bytes.length) throw new SyntaxError('text behind the value');
    return value;
  }

  *#value(): Generator<void, unknown> {
    if (WHITE_SPACE.has(this.#bytes[this.#at])) yield* this.#skipSpace();
    switch (this.#bytes[this.#at]) {
      case QUOTE:
        return yield* this.#text();
      case OPEN_BRACKET:
        return yield* this.#list();
      case OPEN_BRACE:
        return yield* this.#fields();
      default:
        return yield* this.#literal();
    }
  }

  *#list(): Generator<void, unknown[]> {
    const values: unknown[] = [];
    for (let more = yield* this.#opens(CLOSE_BRACKET); more; more = yield* this.#goesOn(CLOSE_BRACKET)) {
      values.push(yield* this.#value());
    }
    return values;
  }

  *#fields(): Generator<void, object> {
    const fields: Record<string, unknown> = {};
    for (let more = yield* this.#opens(CLOSE_BRACE); more; more = yield* this.#goesOn(CLOSE_BRACE)) {
      yield* this.#skipSpace();
      const name = yield* this.#text();
      yield* this.#skipSpace();
      this.#take(COLON);
      const value = yield* this.#value();
      if (name !== '__proto__') fields[name] = value;
      else
        Object.defineProperty(fields, name, {
          ...{ value, configurable: true, enumerable: true, writable: true },
        });
    }
    return fields;
  }

  /** Behind the opening mark: whether there is a first member. */
  *#opens(end: number): Generator<void, boolean> {
    this.#at += 1;
    yield* this.#skipSpace();
    if (this.#bytes[this.#at] !== end) return true;
    this.#at += 1;
    return false;
  }

  /** Behind a member: whether there is another one. */
  *#goesOn(end: number): Generator<void, boolean> {
    if (WHITE_SPACE.has(this.#bytes[this.#at])) yield* this.#skipSpace();
    const isEnd = this.#bytes[this.#at] === end;
    this.#take(isEnd ? end : COMMA);
    return !isEnd;
  }

  /** A long text is read in pieces, which end neither within a character nor within an escape. */
  *#text(): Generator<void, string> {
    this.#take(QUOTE);
    let text = '';
    let from = this.#at;
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw new SyntaxError('a text without an end');
      const isEnd = byte === QUOTE;
      const isCut = this.#at - from >= STEP_BYTES && (byte & 0xc0) !== 0x80;
      if (isEnd || isCut) {
        text += JSON.parse(`"${this.#bytes.toString('utf8', from, this.#at)}"`);
        from = this.#at;
        yield* this.#step();
      }
      this.#at += byte === BACKSLASH ? this.#escapeLength() : 1;
      if (isEnd) return text;
    }
  }

  #escapeLength(): number {
    return this.#bytes[this.#at + 1] === LETTER_U ? 6 : 2;
  }

  /** A number, true, false or null. */
  *#literal(): Generator<void, unknown> {
    const from = this.#at;
    while (this.#at < this.#bytes.length && !ENDS_LITERAL.has(this.#bytes[this.#at])) {
      this.#at += 1;
      // A generator for each digit would take longer than all the rest.
      if (this.#at - this.#stepped >= STEP_BYTES) yield* this.#step();
    }
    return JSON.parse(this.#bytes.toString('latin1', from, this.#at));
  }

  *#skipSpace(): Generator<void, void> {
    while (WHITE_SPACE.has(this.#bytes[this.#at])) {
      this.#at += 1;
      yield* this.#step();
    }
  }

  *#step(): Generator<void, void> {
    if (this.#at - this.#stepped < STEP_BYTES) return;
    this.#stepped = this.#at;
    yield;
  }

  #take(mark: number): void {
    if (this.#bytes[this.#at] !== mark)
      throw new SyntaxError(`no ${String.fromCharCode(mark)} at ${this.#at}`);
    this.#at += 1;
  }
}
