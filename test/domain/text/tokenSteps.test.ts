/** Cost of each character in the estimate of tokens, in fractions of a token. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COST, stepFrom, TOKEN } from '../../../domain/text/tokenSteps.ts';

function costsOf(text: string): number[] {
  let step = 0;
  return Array.from({ length: text.length }, (_, at) => {
    step = stepFrom(step, text.charCodeAt(at));
    return step & COST;
  });
}

const tokensOf = (text: string) => costsOf(text).reduce((sum, cost) => sum + cost, 0) / TOKEN;

describe('the cost of a character', () => {
  it.each([
    ['a digit', '7', 1],
    ['each digit of a number', '2026', 4],
    ['a mark', ';', 1],
    ['the first letter of a text', 'a', 1],
    ['a Greek letter', 'λ', 1],
    ['a phonetic letter', 'ə', 2],
    ['a Chinese character', '漢', 1.25],
    ['a character of four bytes, in two halves', '😀', 4],
    ['a letter of an unlisted script', 'ꯍ', 3],
  ])('%s', (_what, text, tokens) => {
    expect(tokensOf(text)).toBe(tokens);
  });

  it('is zero for the letter after a single space, which starts its token', () => {
    expect(costsOf(' a')).toEqual([TOKEN, 0]);
    expect(costsOf(' A')).toEqual([TOKEN, 0]);
  });

  it('is small for further spaces, line ends and tabs in a run', () => {
    for (const character of [' ', '\n', '\t']) {
      const [first = 0, ...further] = costsOf(character.repeat(10));
      expect(first).toBe(TOKEN);
      expect(Math.max(...further)).toBeLessThan(TOKEN / 4);
    }
  });

  it('is higher for a capital after a small letter, as inside an identifier', () => {
    const [, , capital = 0] = costsOf('abC');
    expect(capital).toBeGreaterThan(TOKEN);
  });

  it('is higher for letters of an unusually long word', () => {
    const costs = costsOf('e'.repeat(40));
    expect(costs.at(-1)).toBeGreaterThan(costs.at(5) ?? TOKEN);
  });
});

it('is never negative, and at most four tokens', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      for (const cost of costsOf(text)) {
        expect(cost).toBeGreaterThanOrEqual(0);
        expect(cost).toBeLessThanOrEqual(4 * TOKEN);
      }
    }),
  );
});

it('does not depend on where the text is cut', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (head, tail) => {
      let step = 0;
      for (let at = 0; at < head.length; at += 1) step = stepFrom(step, head.charCodeAt(at));
      let cost = tokensOf(head) * TOKEN;
      for (let at = 0; at < tail.length; at += 1) {
        step = stepFrom(step, tail.charCodeAt(at));
        cost += step & COST;
      }
      expect(cost).toBe(tokensOf(head + tail) * TOKEN);
    }),
  );
});
