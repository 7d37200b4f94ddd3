/**
 * Embeddings without a model: words and parts of words, hashed to places of a vector. Texts that share words are near each
 * other; it knows nothing of what they mean, and its entry in the catalogue says so.
 */

export const DEFAULT_DIMENSIONS = 512;
export const MAX_DIMENSIONS = 2_048;
/** Of one request: as many inputs as a request may have, with the default dimensions. */
export const MAX_NUMBERS = 2_048 * DEFAULT_DIMENSIONS;

const PIECE_LENGTH = 4;
/** A whole word says more than one of its pieces. */
const WORD_WEIGHT = 1;
const PIECE_WEIGHT = 0.25;

/** Base of the polynomial hash, modulo 2^32; odd, so that no letter's share is shifted out. */
const BASE = 0x01000193;
/** The share of the letter that leaves a piece. */
const LEAVING = Array.from({ length: PIECE_LENGTH }).reduce((power: number) => Math.imul(power, BASE), 1);
/** Words, pieces and texts without a word have features of their own. */
const WORD = 0x9e3779b9;
const PIECE = 0x7f4a7c15;
const TEXT = 0x94d049bb;

/** Of length one; the same text has the same vector on every machine. */
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
  // A text without a word has a place, too: a vector of zeros has no direction.
  if (words === null) add(vector, hashOf(text) ^ TEXT, WORD_WEIGHT);
  return ofLengthOne(vector);
}

function hashOf(text: string): number {
  let hash = 0;
  for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, BASE) + text.charCodeAt(at)) | 0;
  return hash;
}

/** A rolling hash: one step for each letter, however long a piece is. */
function addPieces(vector: Float32Array, framed: string): void {
  let hash = 0;
  for (let at = 0; at < framed.length; at += 1) {
    hash = Math.imul(hash, BASE) + framed.charCodeAt(at);
    if (at >= PIECE_LENGTH) hash -= Math.imul(framed.charCodeAt(at - PIECE_LENGTH), LEAVING);
    hash |= 0;
    if (at >= PIECE_LENGTH - 1) add(vector, hash ^ PIECE, PIECE_WEIGHT);
  }
}

/** The sign is hashed as well, so that features that meet in one place do not only add up. */
function add(vector: Float32Array, feature: number, weight: number): void {
  const mixed = mix(feature);
  const place = (mixed >>> 1) % vector.length;
  vector[place] = (vector[place] ?? 0) + ((mixed & 1) === 0 ? weight : -weight);
}

/** The finalizer of MurmurHash3: every bit of the feature changes half of the bits of the result. */
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
