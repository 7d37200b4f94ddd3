import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64 } from '../../domain/base64.ts';

describe('canonical base64', () => {
  it('reads the output of Node, with and without padding', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), (bytes) => {
        const text = Buffer.from(bytes).toString('base64');
        expect(decodeBase64(text)).toEqual(Buffer.from(bytes));
        expect(decodeBase64(text.replace(/=+$/, ''))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it.each([
    ['nothing', ''],
    ['padding alone', '=='],
    ['one character, which is no byte', 'A'],
    ['five characters, of which the last is no byte', 'QUJDR'],
    ['a part of the padding', 'QQ='],
    ['too much padding', 'QUI=='],
    ['three characters of padding', 'QQ==='],
    ['padding where none belongs', 'QUJD='],
    ['padding inside', 'QQ==QQ=='],
    ['bits that belong to no byte', 'QR=='],
    ['bits that belong to no byte, without padding', 'QR'],
    ['the alphabet of addresses', '-_-_'],
    ['a line feed at the end', 'QUJD\n'],
    ['a space inside', 'QU JD'],
    ['a character outside ASCII', 'QUJDé'],
  ])('refuses %s', (_what, text) => {
    expect(decodeBase64(text)).toBeUndefined();
  });

  it('reads no two texts as the same bytes, except for omitted padding', () => {
    const letter = fc.constantFrom(...'ABCDQRabc01+/=');
    fc.assert(
      fc.property(fc.string({ unit: letter, minLength: 1, maxLength: 8 }), (text) => {
        const bytes = decodeBase64(text);
        if (bytes === undefined) return;
        const spelling = bytes.toString('base64');
        expect([spelling, spelling.replace(/=+$/, '')]).toContain(text);
      }),
      { numRuns: 2_000 },
    );
  });
});
