/**
 * Parses a large JSON body like JSON.parse, in short turns (bench `stalls`). Parsing 35 MB of texts at once blocks the
 * event loop up to 0.1 s, and as long again for its memory.
 */
import { isUtf8 } from 'node:buffer';
import { JsonBytes } from '../../domain/json/jsonBytes.ts';
import { NO_LIMITS } from '../../domain/json/jsonLimits.ts';
import { BACKSLASH, BEGIN, END, JsonReader, MORE, OPEN_BRACKET, QUOTE, VALUE } from '../../domain/json/jsonReader.ts';
import { createTurnLimit } from '../../infra/turnLimit.ts';

/** Takes well below a millisecond. */
const STEP_BYTES = 64 * 1024;
/** Client bodies have a much lower limit before this. */
const LIMITS = { ...NO_LIMITS, depth: 5_000 };
const LETTER_U = 0x75;

/** Rejects with SyntaxError for invalid UTF-8, with JsonProblem for invalid or too deeply nested JSON. */
export async function parseInTurns(bytes: Buffer): Promise<unknown> {
  if (!isUtf8(bytes)) throw new SyntaxError('the text is not in UTF-8');
  const endTurn = createTurnLimit();
  const steps = new JsonValues(bytes).parse();
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    const next = endTurn();
    if (next) await next;
  }
}

/** An open array or object. */
interface Branch {
  value: unknown[] | Record<string, unknown>;
  /** Name of the next member. */
  name: string;
}

class JsonValues {
  readonly #bytes: Buffer;
  readonly #reader = new JsonReader(LIMITS);
  readonly #open: Branch[] = [];
  #root: unknown;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Yields between pieces. */
  *parse(): Generator<void, unknown> {
    const reader = this.#reader;
    const bytes = this.#bytes;
    for (let at = 0, isLast = false; !isLast; at += STEP_BYTES) {
      isLast = at + STEP_BYTES >= bytes.length;
      reader.write(new JsonBytes(bytes.subarray(at, at + STEP_BYTES)), isLast);
      for (let step = reader.next(); step !== MORE; step = reader.next()) {
        if (this.#take(step)) continue;
        const isLong = reader.end - reader.stringAt > STEP_BYTES;
        const text = isLong ? yield* this.#longText() : this.#text(reader.stringAt + 1, reader.end - 1);
        if (step === VALUE) this.#put(text);
        else (this.#open.at(-1) as Branch).name = text;
      }
      yield;
    }
    return this.#root;
  }

  /** Returns false for a text, which the caller handles as a name or a value. */
  #take(step: number): boolean {
    const reader = this.#reader;
    if (step === BEGIN) this.#open.push({ value: reader.first === OPEN_BRACKET ? [] : {}, name: '' });
    else if (step === END) this.#put(this.#open.pop()?.value);
    else if (step === VALUE && reader.first !== QUOTE) this.#put(this.#plainValue());
    else return false;
    return true;
  }

  /** Number, true, false or null. */
  #plainValue(): unknown {
    const { start, end } = this.#reader;
    return JSON.parse(this.#bytes.toString('latin1', start, end));
  }

  #put(value: unknown): void {
    const branch = this.#open.at(-1);
    if (branch === undefined) this.#root = value;
    else if (Array.isArray(branch.value)) branch.value.push(value);
    else if (branch.name !== '__proto__') branch.value[branch.name] = value;
    else
      Object.defineProperty(branch.value, branch.name, {
        ...{ value, configurable: true, enumerable: true, writable: true },
      });
  }

  #text(from: number, to: number): string {
    const text = this.#bytes.toString('utf8', from, to);
    return this.#reader.isEscaped() ? (JSON.parse(`"${text}"`) as string) : text;
  }

  /** Decodes in pieces that never split a character or an escape. */
  *#longText(): Generator<void, string> {
    const bytes = this.#bytes;
    const end = this.#reader.end - 1;
    let text = '';
    for (let from = this.#reader.stringAt + 1; from < end; ) {
      const least = Math.min(from + STEP_BYTES, end);
      let to = from;
      while (to < least) to += bytes[to] === BACKSLASH ? (bytes[to + 1] === LETTER_U ? 6 : 2) : 1;
      while (((bytes[to] ?? 0) & 0xc0) === 0x80) to += 1;
      text += this.#text(from, to);
      from = to;
      yield;
    }
    return text;
  }
}
