/** Web content for a model never exceeds the held tokens, whatever pages and results contain. */
import { describe, expect, it } from 'vitest';
import { pagesBlock, searchBlock } from '../../../../api/text/web/block.ts';
import { cutToTokens, estimateTokens } from '../../../../domain/text/promptSize.ts';

const TEXTS = ['', 'a', 'word '.repeat(5_000), '界'.repeat(5_000), '😀'.repeat(5_000), '<page>'.repeat(5_000)];
const BUDGETS = [1, 7, 100, 333, 4_000, 40_000];
const TERMS = BUDGETS.flatMap((tokens) => [true, false].map((marked) => ({ tokens, marked })));

describe.each(TERMS)('within $tokens tokens (marks: $marked)', (terms) => {
  it('the pages fit', () => {
    const pages = TEXTS.map((content, index) => ({
      ...{ url: `https://a.example/${index}`, title: content, failure: content },
      content: index % 3 === 2 ? undefined : content,
    }));
    for (let count = 0; count <= pages.length; count += 1) {
      const block = pagesBlock(pages.slice(0, count), { ...terms, passedOver: count });
      expect(estimateTokens(block)).toBeLessThanOrEqual(terms.tokens);
    }
  });

  it('the results fit', () => {
    const results = TEXTS.map((content) => ({ title: content, url: content, content, date: content }));
    expect(estimateTokens(searchBlock(undefined, terms))).toBeLessThanOrEqual(terms.tokens);
    for (let count = 0; count <= results.length; count += 1) {
      expect(estimateTokens(searchBlock(results.slice(0, count), terms))).toBeLessThanOrEqual(terms.tokens);
    }
  });
});

it('a short result leaves its unused tokens to the others', () => {
  const short = { title: 't', url: 'https://a.example/', content: 'short', date: '' };
  const long = { ...short, content: 'word '.repeat(5_000) };
  const block = searchBlock([short, short, short, long], { tokens: 1_000, marked: false });
  expect(estimateTokens(block)).toBeGreaterThan(950);
});

it.each(TEXTS)('a text is cut to a number of tokens, never within a character (%#)', (text) => {
  for (const tokens of [0, 1, 2, 3, 50, 100_000]) {
    const cut = cutToTokens(text, tokens);
    expect(text.startsWith(cut) && estimateTokens(cut) <= tokens).toBe(true);
    expect(() => encodeURIComponent(cut)).not.toThrow();
  }
});
