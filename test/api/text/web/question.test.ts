/** A message always gives the same search query, and never one that an engine would refuse. */
import { describe, expect, it } from 'vitest';
import { addressesIn, isAboutThePresent, lastUserText, searchQuery } from '../../../../api/text/web/question.ts';

describe('a search query', () => {
  it.each([
    ['Who won?', 'Who won?'],
    ['Hi! Could you please tell me who won?', 'who won?'],
    ['Search the web for prepaid inference', 'prepaid inference'],
    ['  two\n lines\t', 'two lines'],
    ['Explain https://a.example/x?y=1 to me', 'Explain to me'],
    ['```js\nlet a\n```', ''],
    ['!g :de trains !!now', 'g de trains now'],
    ['hello', 'hello'],
    ['', ''],
  ])('of %j is %j', (said, query) => {
    expect(searchQuery(said)).toBe(query);
  });

  it('of a long message is its last question sentence', () => {
    const said = `${'This is background. '.repeat(60)} Which train is the fastest? ${'Thank you. '.repeat(20)}`;
    expect(searchQuery(said)).toBe('Which train is the fastest?');
  });

  it.each([
    ['letters', 'x'.repeat(5_000)],
    ['words', 'word '.repeat(500)],
    ['letters of two halves', '😀'.repeat(500)],
    ['questions without an end', 'a?'.repeat(100_000)],
    ['fences without an end', '```'.repeat(100_000)],
    ['brackets behind an address', `https://a.example/${')'.repeat(190_000)}`],
    ['greetings without an end', 'hi '.repeat(70_000)],
  ])('of very many %s is within the limits of engines', (_name, said) => {
    const query = searchQuery(said);
    expect(query.length).toBeLessThanOrEqual(400);
    expect(query.split(' ').length).toBeLessThanOrEqual(50);
    expect(() => encodeURIComponent(query)).not.toThrow();
  });
});

describe('an address', () => {
  it.each([
    ['see https://a.example/x.', ['https://a.example/x']],
    ['(https://a.example/x)', ['https://a.example/x']],
    ['https://a.example/x_(y)', ['https://a.example/x_(y)']],
    ['[a](https://a.example/x), **https://b.example/**', ['https://a.example/x', 'https://b.example/']],
    ['https://a.example https://a.example', ['https://a.example']],
    ['HTTP://A.example/', ['HTTP://A.example/']],
    ['ftp://a.example file:///etc/passwd a.example', []],
    [`https://a.example/${'x'.repeat(3_000)}`, []],
  ])('in %j', (said, found) => {
    expect(addressesIn(said)).toEqual(found);
  });
});

it.each([
  ['What is the weather tomorrow?', true],
  ['Anything new in 2027?', true],
  ['Search for it', true],
  ['Please cite sources', true],
  ['Write a poem about rivers', false],
  ['Why was 1999 a good year?', false],
  ['```\nsearch latest news\n```', false],
])('%j is about the present: %s', (said, does) => {
  expect(isAboutThePresent(said)).toBe(does);
});

it('the last user text is that of the last user message', () => {
  const messages = [
    { role: 'user' as const, content: 'first' },
    {
      role: 'user' as const,
      content: [
        { type: 'text' as const, text: 'a' },
        { type: 'text' as const, text: 'b' },
      ],
    },
    { role: 'assistant' as const, content: 'c' },
  ];
  expect([lastUserText({ messages }), lastUserText({ messages: [] })]).toEqual(['a\nb', '']);
});
