/** Base58 of Bitcoin and Solana. Source of the vectors: bitcoin/src/test/data/base58_encode_decode.json. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOfBase58, fromBase58, toBase58 } from '../../domain/base58.ts';

const VECTORS = [
  ['', ''],
  ['61', '2g'],
  ['626262', 'a3gV'],
  ['636363', 'aPEr'],
  ['73696d706c792061206c6f6e6720737472696e67', '2cFupjhnEsSn59qHXstmK2ffpLv2'],
  ['00eb15231dfceb60925886b67d065299925915aeb172c06647', '1NS17iag9jJgTHD1VXjvLCEnZuQ3rJDE9L'],
  ['516b6fcd0f', 'ABnLTmg'],
  ['bf4f89001e670274dd', '3SEo3LWLoPntC'],
  ['572e4794', '3EFU7m'],
  ['ecac89cad93923c02321', 'EJDM8drfXA6uyA'],
  ['10c8511e', 'Rt5zm'],
  ['00000000000000000000', '1111111111'],
] as const;

describe('base58', () => {
  it.each(VECTORS)('writes %s as "%s" and reads it back', (hex, text) => {
    expect(toBase58(Buffer.from(hex, 'hex'))).toBe(text);
    expect(Buffer.from(fromBase58(text) ?? []).toString('hex')).toBe(hex);
  });

  it('has exactly one encoding for each sequence of bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 48 }), (bytes) => {
        const text = toBase58(bytes);
        expect(fromBase58(text)).toEqual(bytes);
        expect(text).toMatch(/^[1-9A-HJ-NP-Za-km-z]*$/);
      }),
    );
  });

  it.each(['0', 'O', 'I', 'l', ' ', '+', '/', '=', '-', '\n', 'é', '𝟙', 'abc0', '2g '])(
    'refuses %j, which has a character of another alphabet',
    (text) => {
      expect(fromBase58(text)).toBeUndefined();
    },
  );
});

describe('base58 of a known length', () => {
  it.each([
    ['the address of the system program', '1'.repeat(32), 32, true],
    ['one zero byte too few', '1'.repeat(31), 32, false],
    ['one zero byte too many', '1'.repeat(33), 32, false],
    ['a public key', 'D2PHpNfVHjVWYdZpYe8VNfzZGCCWTo4HxqAEWT9Xgybp', 32, true],
    ['a public key that lost two characters', 'D2PHpNfVHjVWYdZpYe8VNfzZGCCWTo4HxqAEWT9Xgy', 32, false],
    ['a leading one that adds a byte', '1D2PHpNfVHjVWYdZpYe8VNfzZGCCWTo4HxqAEWT9Xgybp', 32, false],
    ['the largest value of 32 bytes', toBase58(new Uint8Array(32).fill(255)), 32, true],
    ['no text', '', 0, true],
    ['no text for one byte', '', 1, false],
  ] as const)('accepts %s according to its length', (_what, text, length, isTaken) => {
    expect(bytesOfBase58(text, length)?.length).toBe(isTaken ? length : undefined);
  });

  it('refuses a long text without decoding it', () => {
    const text = 'z'.repeat(4_000_000);
    const startedAt = performance.now();
    expect(bytesOfBase58(text, 64)).toBeUndefined();
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});
