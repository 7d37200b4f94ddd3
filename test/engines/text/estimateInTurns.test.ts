/** The estimate of long texts is the sum of their estimates, and yields to other work in between. */
import { expect, it } from 'vitest';
import { estimateTokens } from '../../../domain/text/promptSize.ts';
import { estimateInTurns, estimateTexts } from '../../../engines/text/estimateInTurns.ts';

const WORDS = 'One word after another, UNBROKENcapitals and a number: 1234.\n\n漢字 ';

it('equals the sum of single estimates', async () => {
  const texts = ['', 'a', WORDS.repeat(5_000), 'x'.repeat(400_000), ' '.repeat(131_073), WORDS];
  const sum = texts.reduce((tokens, text) => tokens + estimateTokens(text), 0);
  expect(await estimateInTurns(texts)).toBe(sum);
  expect(await estimateInTurns([])).toBe(0);
});

it('is synchronous for short texts, and equal to the one in turns', async () => {
  const short = ['', 'a', WORDS];
  expect(estimateTexts(short)).toBe(await estimateInTurns(short));
  const long = [WORDS.repeat(5_000)];
  expect(estimateTexts(long)).toBeInstanceOf(Promise);
  expect(await estimateTexts(long)).toBe(await estimateInTurns(long));
});

it('yields to other work between turns', async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await estimateInTurns(Array(400).fill(WORDS.repeat(1_000)));
  clearImmediate(next);
  expect(turns).toBeGreaterThan(1);
});
