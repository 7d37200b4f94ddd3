import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonBytes } from '../../../domain/json/jsonBytes.ts';
import { JsonWriter } from '../../../domain/json/jsonWriter.ts';

describe('written JSON', () => {
  it('equals its parts, whatever capacity was reserved', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.nat(3_000).map((length) => 'ab'.repeat(length)),
    );
    const number = fc.oneof(fc.nat(12), fc.nat(2 ** 31 - 1), fc.constantFrom(9, 10, 99, 100, 999_999_999));
    const piece = fc.oneof(fc.tuple(fc.constant('…'), text, fc.nat(9)), number);
    fc.assert(
      fc.property(fc.nat(200), fc.array(piece), (aboutBytes, pieces) => {
        const writer = new JsonWriter(aboutBytes);
        let expected = '';
        for (const each of pieces) {
          if (typeof each === 'number') writer.number(each);
          else {
            // Copied from the middle of other text, so that it starts at any byte of a word.
            const [around, inside, at] = each;
            const before = around.repeat(at);
            const from = Buffer.byteLength(before);
            writer.put(jsonBytes(before + inside + around), from, from + Buffer.byteLength(inside));
          }
          expected += typeof each === 'number' ? each : each[1];
        }
        expect(writer.written().toString()).toBe(expected);
      }),
    );
  });

  it.each(['', '1', '[]', '"jsonrpc":"2.0"', '"id":'])('contains %j at its place only', (words) => {
    const json = jsonBytes(`__${words}`);
    expect(json.says(jsonBytes(words), 2)).toBe(true);
    expect(json.says(jsonBytes(`${words}x`), 2)).toBe(false);
    expect(json.says(jsonBytes(words), -1)).toBe(false);
    if (words !== '') expect(json.says(jsonBytes(words), 1)).toBe(false);
  });
});
