/**
 * Embeddings without a model: words and parts of words, hashed to places of a vector. Texts with common words are near
 * each other. Meaning is ignored, as the catalogue entry says.
 */

export const DEFAULT_DIMENSIONS = 512;
export const MAX_DIMENSIONS = 2_048;
/** Most numbers of one request: the most inputs, with the default dimensions. */
export const MAX_NUMBERS = 2_048 * DEFAULT_DIMENSIONS;

const PIECE_LENGTH = 4;
/** A whole word has more weight than one of its pieces. */
const WORD_WEIGHT = 1;
const PIECE_WEIGHT = 0.25;

/** Base of the polynomial hash, modulo 2^32; odd, so that no character's term becomes zero. */
const BASE = 0x01000193;
/** Factor of the character that leaves a piece. */
const LEAVING = Array.from({ length: PIECE_LENGTH }).reduce((power: number) => Math.imul(power, BASE), 1);
/** Separate hashes for words, pieces and texts without a word. */
const WORD = 0x9e3779b9;
const PIECE = 0x7f4a7c15;
const TEXT = 0x94d049bb;

/** Returns a unit vector, identical for the same text on every machine. */
export function embedText(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  for (const word of words ?? []) {
    add(vector, hashOf(word) ^ WORD, WORD_WEIGHT);
    addPieces(vector, `<${word}>`);
  }
  // A text without a word is hashed whole: a zero vector has no direction.
  if (words === null) add(vector, hashOf(text) ^ TEXT, WORD_WEIGHT);
  return ofLengthOne(vector);
}

function hashOf(text: string): number {
  let hash = 0;
  for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, BASE) + text.charCodeAt(at)) | 0;
  return hash;
}

/** Rolling hash: one step per character, independent of the length of a piece. */
function addPieces(vector: Float32Array, framed: string): void {
  let hash = 0;
  for (let at = 0; at < framed.length; at += 1) {
    hash = Math.imul(hash, BASE) + framed.charCodeAt(at);
    if (at >= PIECE_LENGTH) hash -= Math.imul(framed.charCodeAt(at - PIECE_LENGTH), LEAVING);
    hash |= 0;
    if (at >= PIECE_LENGTH - 1) add(vector, hash ^ PIECE, PIECE_WEIGHT);
  }
}

/** The hash also gives the sign, so that colliding features do not always add up. */
function add(vector: Float32Array, feature: number, weight: number): void {
  const mixed = mix(feature);
  const place = (mixed >>> 1) % vector.length;
  vector[place] = (vector[place] ?? 0) + ((mixed & 1) === 0 ? weight : -weight);
}

/** MurmurHash3 finalizer: each bit of the feature changes half of the result bits. */
function mix(feature: number): number {
  let hash = feature ^ (feature >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function ofLengthOne(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares) || 1;
  return vector.map((value) => value / length);
}
