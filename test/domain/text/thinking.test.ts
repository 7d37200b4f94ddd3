import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createThinkingFilter, withoutThinking } from '../../../domain/text/thinking.ts';

describe('reasoning in an answer', () => {
  it.each([
    ['nothing to take out', 'nothing to take out'],
    ['<think>hm</think>\n\nThe answer', 'The answer'],
    ['Before <think>hm</think> after', 'Before after'],
    ['<think>never closed', ''],
    ['a < b and <thin ice>', 'a < b and <thin ice>'],
    ['<think>one</think>x<think>two</think>y', 'xy'],
    ['', ''],
  ])('%j becomes %j', (text, shown) => {
    expect(withoutThinking(text)).toBe(shown);
  });

  it('is removed alike wherever the text is cut', () => {
    const texts = fc.array(fc.constantFrom('<think>', '</think>', '<', 'th', 'a b', '\n', 'é'), {
      maxLength: 12,
    });
    const check = fc.property(texts, fc.array(fc.nat(40), { maxLength: 8 }), (parts, cuts) => {
      const text = parts.join('');
      const filter = createThinkingFilter();
      const places = [...new Set(cuts.map((cut) => Math.min(cut, text.length)))].sort((a, b) => a - b);
      let shown = '';
      let from = 0;
      for (const place of [...places, text.length]) {
        shown += filter.push(text.slice(from, place));
        from = place;
      }
      expect(shown + filter.end()).toBe(withoutThinking(text));
    });
    fc.assert(check, { numRuns: 2_000 });
  });
});
