/**
 * Serialises JSON for a service, in turns of the event loop when it is large: 35 MB take a third of a second (bench
 * `stalls`).
 */
import { createTurnLimit, type TurnLimit } from '../turnLimit.ts';

/** Up to this size JSON.stringify takes at most two milliseconds, for any strings. */
const QUICK_LETTERS = 128 * 1024;

/** Same text as JSON.stringify; a large one as UTF-8 bytes. */
export function encodeJson(value: unknown): string | Promise<Buffer> {
  return lettersOf(value) <= QUICK_LETTERS ? JSON.stringify(value) : encodeInTurns(value);
}

async function encodeInTurns(value: unknown): Promise<Buffer> {
  const endTurn = createTurnLimit();
  const chunks: Buffer[] = [];
  let text = '';
  for (const piece of piecesOf(value)) {
    text += piece;
    if (text.length < QUICK_LETTERS) continue;
    chunks.push(Buffer.from(text));
    text = '';
    const next = endTurn();
    if (next) await next;
  }
  chunks.push(Buffer.from(text));
  return await concat(chunks, endTurn);
}

/** Copies chunk by chunk: Buffer.concat of 35 MB touches all of its memory in one turn. */
async function concat(chunks: readonly Buffer[], endTurn: TurnLimit): Promise<Buffer> {
  const whole = Buffer.allocUnsafeSlow(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    at += chunk.copy(whole, at);
    const next = endTurn();
    if (next) await next;
  }
  return whole;
}

/** Counts letters of all strings and names, up to the limit of one turn. */
function lettersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  let letters = 2;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && letters <= QUICK_LETTERS; at += 1) letters += lettersOf(value[at]);
    return letters;
  }
  // Object.entries would allocate a list for each object of each request.
  for (const name in value) {
    letters += name.length + lettersOf((value as Record<string, unknown>)[name]);
    if (letters > QUICK_LETTERS) break;
  }
  return letters;
}

function* piecesOf(value: unknown): Generator<string> {
  if (lettersOf(value) <= QUICK_LETTERS) yield JSON.stringify(value);
  else if (typeof value === 'string') yield* piecesOfText(value);
  else if (Array.isArray(value)) yield* piecesOfList(value);
  else yield* piecesOfFields(value as Record<string, unknown>);
}

function* piecesOfList(values: readonly unknown[]): Generator<string> {
  let mark = '[';
  for (const value of values) {
    yield mark;
    yield* piecesOf(value ?? null);
    mark = ',';
  }
  yield ']';
}

function* piecesOfFields(fields: Record<string, unknown>): Generator<string> {
  let mark = '{';
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    yield `${mark}${JSON.stringify(name)}:`;
    yield* piecesOf(value);
    mark = ',';
  }
  yield '}';
}

function* piecesOfText(text: string): Generator<string> {
  yield '"';
  for (let at = 0; at < text.length; ) {
    const end = at + QUICK_LETTERS;
    // Surrogate pairs stay together: a single half is written as an escape.
    const cut = isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end;
    yield JSON.stringify(text.slice(at, cut)).slice(1, -1);
    at = cut;
  }
  yield '"';
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
