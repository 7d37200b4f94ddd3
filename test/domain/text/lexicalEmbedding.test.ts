/** Embeddings of texts without a model. */
import { expect, it } from 'vitest';
import { embedText } from '../../../domain/text/lexicalEmbedding.ts';

const DIMENSIONS = 512;

function similarity(first: string, second: string): number {
  const [a, b] = [embedText(first, DIMENSIONS), embedText(second, DIMENSIONS)];
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

it('have length one for any text', () => {
  for (const text of ['a', 'one two three', '!?', ' ', 'ß½é漢字', 'x'.repeat(30_000)]) {
    for (const dimensions of [1, 3, 512, 2_048]) {
      const squares = embedText(text, dimensions).reduce((sum, value) => sum + value * value, 0);
      expect(squares).toBeCloseTo(1, 4);
    }
  }
});

it('are closer the more words and parts of words the texts share', () => {
  const text = 'The fare is paid and the doors are closing';
  const near = similarity(text, 'The doors are closing, the fare is paid!');
  const parts = similarity(text, 'Pay fares; the door closes');
  const far = similarity(text, 'Quantum chromodynamics on lattices');
  expect(near).toBeGreaterThan(0.9);
  expect(parts).toBeLessThan(near);
  expect(far).toBeLessThan(parts);
  expect(Math.abs(far)).toBeLessThan(0.2);
});

it('are equal for all spellings that NFKC and case folding unify', () => {
  expect(embedText('ＡＢＣ ﬁn', DIMENSIONS)).toEqual(embedText('abc FIN', DIMENSIONS));
});

it('are equal on every machine and in every release', () => {
  expect([...embedText('one two three', 8)].map((value) => value.toFixed(4))).toEqual([
    ...['-0.5164', '0.0000', '0.0000', '-0.1291', '-0.1291', '0.6455', '0.5164', '0.1291'],
  ]);
});

it('of 10,000 words collide no more often than at random', () => {
  const vector = new Set<string>();
  for (let word = 0; word < 10_000; word += 1) {
    const at = embedText(`w${word}`, 2_048).reduce((best, value, place, all) => {
      return Math.abs(value) > Math.abs(all[best] ?? 0) ? place : best;
    }, 0);
    vector.add(`${at}`);
  }
  expect(vector.size).toBeGreaterThan(1_900);
});
