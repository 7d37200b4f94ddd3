/** The token count is right, and never blocks the event loop. */
import { readFileSync } from 'node:fs';
import { countTokens as countAtOnce } from 'gpt-tokenizer/encoding/o200k_base';
import { beforeAll, describe, expect, it } from 'vitest';
import { countTokens } from '../../../engines/text/countTokens.ts';
import { longestTurn, MAX_TURN_MS } from '../../harness/stall.ts';

/** A long text: prose, tables and code. */
const MARKDOWN = readFileSync(new URL('../../../docs/operating.md', import.meta.url), 'utf8');

beforeAll(() => countTokens('the vocabulary is loaded'));

describe('the count of tokens', () => {
  it('of a long text equals the sum of its pieces within a thousandth', async () => {
    const whole = countAtOnce(MARKDOWN);
    expect(Math.abs((await countTokens(MARKDOWN)) - whole)).toBeLessThan(whole / 1_000);
    const words = 'One word after another, and a number: 1234. '.repeat(500);
    expect(await countTokens(words)).toBe(countAtOnce(words));
    expect(await countTokens('')).toBe(0);
  });

  it('includes a text that looks like a control token as plain text', async () => {
    expect(await countTokens('<|endoftext|>')).toBeGreaterThan(1);
  });

  it('stops soon after the requested maximum', async () => {
    const counted = await countTokens(MARKDOWN.repeat(1_000), 100);
    expect(counted).toBeGreaterThan(100);
    expect(counted).toBeLessThan(1_000);
  });

  it.each([
    ['one letter', 'a'],
    ['no space', '漢字'],
    ['spaces', ' '],
    ['lines', '\n'],
    ['pictures of two halves', '😀'],
    ['marks', '*_`['],
  ])('of endless %s does not block the event loop', async (_name, piece) => {
    const count = () => countTokens(piece.repeat(32_768 / piece.length));
    expect(await longestTurn(count, MAX_TURN_MS)).toBeLessThan(MAX_TURN_MS);
  });
});
