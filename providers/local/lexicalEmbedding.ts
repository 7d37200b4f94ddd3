/**
 * Embeddings without a model: words and parts of words, hashed to places of a vector. Texts that share words are near each
 * other; it knows nothing of what they mean, and its entry in the catalogue says so.
 */
import { createHash } from 'node:crypto';
import { estimateTokens } from '../../domain/text/promptSize.ts';
import type { TextProvider } from '../textProvider.ts';

const DIMENSIONS = 512;
const PIECE = 4;
/** A whole word says more than one of its pieces. */
const WORD_WEIGHT = 1;
const PIECE_WEIGHT = 0.25;

export function createLexicalEmbedder(): TextProvider {
  return {
    async embed({ inputs, dimensions = DIMENSIONS }) {
      const vectors = inputs.map((input) => embed(input, dimensions));
      const promptTokens = inputs.reduce((sum, input) => sum + estimateTokens(input), 0);
      return { vectors, promptTokens };
    },
    close: async () => undefined,
  };
}

/** Of length one; the same text has the same vector on every machine and in every release. */
function embed(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  for (const word of words) {
    add(vector, `w ${word}`, WORD_WEIGHT);
    const framed = `<${word}>`;
    for (let at = 0; at + PIECE <= framed.length; at += 1)
      add(vector, `p ${framed.slice(at, at + PIECE)}`, PIECE_WEIGHT);
  }
  // A text without a word has a place, too: a vector of zeros has no direction.
  if (words.length === 0) add(vector, `t ${text}`, WORD_WEIGHT);
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

/** The sign is hashed as well, so that features that meet in one place do not only add up. */
function add(vector: Float32Array, feature: string, weight: number): void {
  const hash = createHash('sha256').update(feature).digest();
  const place = hash.readUInt32LE(0) % vector.length;
  vector[place] = (vector[place] ?? 0) + ((hash[4] ?? 0) % 2 === 0 ? weight : -weight);
}
