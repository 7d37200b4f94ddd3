/**
 * Vectors as JSON, serialised while they are sent: a million numbers are 20 MB of text, which is never in memory at
 * once.
 */
import { endianness } from 'node:os';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface EmbeddingsAnswer {
  model: string;
  vectors: readonly Float32Array[];
  tokens: number;
  /** `base64`: float32, little-endian; `float`: numbers. */
  format: 'base64' | 'float';
}

/** About a millisecond of work in one turn of the event loop. */
const PIECE_LETTERS = 32 * 1024;
/** Divisible by three: base64 of a whole number of these bytes needs no padding. */
const NUMBERS_AT_ONCE = 1_536;

export function streamEmbeddings(answer: EmbeddingsAnswer): Readable {
  return Readable.from(piecesOf(answer), { objectMode: false });
}

async function* piecesOf(answer: EmbeddingsAnswer): AsyncGenerator<string> {
  let piece = '';
  for (const text of textOf(answer)) {
    piece += text;
    if (piece.length < PIECE_LETTERS) continue;
    yield piece;
    piece = '';
    await nextTurn();
  }
  yield piece;
}

function* textOf({ model, vectors, tokens, format }: EmbeddingsAnswer): Generator<string> {
  yield `{"object":"list","model":${JSON.stringify(model)},"data":[`;
  for (const [index, vector] of vectors.entries()) {
    yield `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":`;
    yield* format === 'base64' ? base64Of(vector) : numbersOf(vector);
    yield '}';
  }
  yield `],"usage":${JSON.stringify({ prompt_tokens: tokens, total_tokens: tokens })}}`;
}

function* numbersOf(vector: Float32Array): Generator<string> {
  yield '[';
  for (let at = 0; at < vector.length; at += NUMBERS_AT_ONCE) {
    const numbers = Array.from(vector.subarray(at, at + NUMBERS_AT_ONCE));
    yield `${at === 0 ? '' : ','}${JSON.stringify(numbers).slice(1, -1)}`;
  }
  yield ']';
}

function* base64Of(vector: Float32Array): Generator<string> {
  yield '"';
  for (let at = 0; at < vector.length; at += NUMBERS_AT_ONCE) {
    const numbers = vector.slice(at, at + NUMBERS_AT_ONCE);
    const bytes = Buffer.from(numbers.buffer);
    if (endianness() === 'BE') bytes.swap32();
    yield bytes.toString('base64');
  }
  yield '"';
}
