/** Parses large bodies in turns to the same values and errors as JSON.parse. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseInTurns } from '../../../engines/text/parseInTurns.ts';

const LONG = 300_000;

async function outcomeOf(parse: () => unknown): Promise<{ value?: unknown; json?: string; failed?: true }> {
  try {
    const value = await parse();
    return { value, json: JSON.stringify(value) };
  } catch {
    return { failed: true };
  }
}

const bothOf = async (text: string) => ({
  ours: await outcomeOf(() => parseInTurns(Buffer.from(text))),
  theirs: await outcomeOf(() => JSON.parse(text)),
});

it('parses what JSON.parse parses, with any white space', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.constantFrom(0, 1, '\t', ' \n'), async (value, indent) => {
      const { ours, theirs } = await bothOf(JSON.stringify(value, undefined, indent));
      expect(ours).toEqual(theirs);
    }),
  );
});

it('refuses what JSON.parse refuses', async () => {
  const marks = fc.constantFrom(...'{}[]",:\\u01-.eE+ \n\t\u0001', 'true', 'nul', '"a"', '\\u00e9', 'é', '\ufeff');
  await fc.assert(
    fc.asyncProperty(fc.array(marks, { maxLength: 12 }), async (pieces) => {
      const { ours, theirs } = await bothOf(pieces.join(''));
      expect(ours).toEqual(theirs);
    }),
    { numRuns: 3_000 },
  );
});

it.each([
  ['letters of one to four bytes', `x${'aé漢😀'.repeat(LONG / 8)}`],
  ['escapes of every length', `${'\\u00e9\\n\\\\\\ud83d\\ude00\\ud800'.repeat(LONG / 30)}`],
  ['quotes', '\\"'.repeat(LONG)],
])('joins the pieces of a long text of %s', async (_name, text) => {
  for (const before of ['', 'a', 'ab', 'abc', 'abcd', 'abcde']) {
    const { ours, theirs } = await bothOf(`{"${before}${text}":["${before}${text}"]}`);
    expect(ours.json === theirs.json && ours.failed === undefined).toBe(true);
  }
});

it('keeps a field named __proto__ as a field, and the last of two of one name', async () => {
  const value = await parseInTurns(Buffer.from('{"__proto__":{"a":1},"b":1,"b":2}'));
  expect(Object.keys(value as object)).toEqual(['__proto__', 'b']);
  expect(value).toHaveProperty('b', 2);
  expect(({} as { a?: number }).a).toBeUndefined();
});

it('refuses bytes that are not UTF-8', async () => {
  await expect(parseInTurns(Buffer.from([0x22, 0xff, 0x22]))).rejects.toThrow(SyntaxError);
});

it.each([
  ['one text', `"${'a'.repeat(20 * LONG)}"`],
  ['white space', `${' '.repeat(20 * LONG)}1`],
  ['many texts', JSON.stringify(Array(20).fill('é'.repeat(LONG)))],
])('yields to other work while it parses %s', async (_name, text) => {
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await parseInTurns(Buffer.from(text));
  clearImmediate(next);
  expect(turns).toBeGreaterThan(1);
});
