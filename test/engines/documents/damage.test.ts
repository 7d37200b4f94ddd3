/** Real documents with bytes changed, cut and duplicated: each ends with a text or a refusal, never with a fault. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openReader, outcome } from './reader.ts';

const folder = fileURLToPath(new URL('../../fixtures/documents/', import.meta.url));
const documents = readdirSync(folder).filter((name) => /\.(pdf|docx|pptx|xlsx)$/.test(name));
const reader = openReader();
const ROUNDS = 6;

/** Pseudo-random numbers, the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed + 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function damage(whole: Buffer, seed: number): Buffer {
  const pick = numbers(seed);
  const bytes = Buffer.from(whole);
  const changes = 1 + pick(30);
  for (let change = 0; change < changes; change += 1) bytes[pick(bytes.length)] = pick(256);
  if (seed % 3 === 1) return bytes.subarray(0, pick(bytes.length));
  if (seed % 3 === 2) return Buffer.concat([bytes.subarray(0, pick(bytes.length)), bytes]);
  return bytes;
}

describe('a damaged document', () => {
  it.each(documents)('ends with a text or a refusal: %s', async (name) => {
    const whole = readFileSync(folder + name);
    for (let round = 0; round < ROUNDS; round += 1) {
      const ended = await outcome(reader, damage(whole, round));
      if (ended.startsWith('refused: ')) expect(ended).toMatch(/: (damaged|no_text|protected|unsupported)$/);
      else expect(ended).not.toBe('');
    }
  });
});
