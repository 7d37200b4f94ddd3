/** JSON for services equals the text of JSON.stringify, and a large one is written in turns. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeJson } from '../../../infra/http/encodeJson.ts';

const LONG = 140_000;

const textOf = async (value: unknown) => (await encodeJson(value)).toString();

it('writes a small value at once', () => {
  expect(encodeJson({ a: [1, null, 'b'], c: undefined })).toBe('{"a":[1,null,"b"]}');
});

it('writes any large value as JSON.stringify does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.string({ unit: 'binary' }), async (value, text) => {
      const large = { value, texts: [text, undefined, 'x'.repeat(LONG)], gone: undefined, [text]: value };
      expect((await textOf(large)) === Buffer.from(JSON.stringify(large)).toString()).toBe(true);
    }),
    { numRuns: 50 },
  );
});

it.each(['\n', '"', '\ud800', 'é', '漢', '😀', 'a😀', 'a\udc00'])(
  'splits a long text of %j without a change',
  async (unit) => {
    const large = [{ text: unit.repeat((3 * LONG) / unit.length) }];
    expect((await textOf(large)) === JSON.stringify(large)).toBe(true);
  },
);

it('yields to other work between turns', async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await encodeJson(Array(200).fill('\n'.repeat(LONG / 2)));
  clearImmediate(next);
  expect(turns).toBeGreaterThan(1);
});
