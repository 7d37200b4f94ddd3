/** Base58 in the alphabet of Bitcoin and Solana. The time grows with the square of the length: callers bound it. */

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const VALUES = new Map([...ALPHABET].map((character, value) => [character, value]));

export function toBase58(bytes: Uint8Array): string {
  // Least significant digit first.
  const digits: number[] = [];
  for (const byte of bytes) {
    let carry = byte;
    for (let index = 0; index < digits.length; index += 1) {
      carry += (digits[index] ?? 0) * 256;
      digits[index] = carry % 58;
      carry = Math.floor(carry / 58);
    }
    for (; carry > 0; carry = Math.floor(carry / 58)) digits.push(carry % 58);
  }
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros += 1;
  return '1'.repeat(zeros) + digits.reverse().reduce((text, digit) => text + ALPHABET[digit], '');
}

/** Undefined: another character is in it. */
export function fromBase58(text: string): Uint8Array | undefined {
  const bytes: number[] = [];
  for (const character of text) {
    let carry = VALUES.get(character);
    if (carry === undefined) return undefined;
    for (let index = 0; index < bytes.length; index += 1) {
      carry += (bytes[index] ?? 0) * 58;
      bytes[index] = carry % 256;
      carry = Math.floor(carry / 256);
    }
    for (; carry > 0; carry = Math.floor(carry / 256)) bytes.push(carry % 256);
  }
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  return Uint8Array.from([...new Array<number>(zeros).fill(0), ...bytes.reverse()]);
}

/** Exactly so many bytes, in the one spelling of them; undefined otherwise. */
export function bytesOfBase58(text: string, length: number): Uint8Array | undefined {
  // Of so many bytes there are never more characters, and a long text is not worked through for nothing.
  if (text.length > length * 2) return undefined;
  const bytes = fromBase58(text);
  return bytes?.length === length ? bytes : undefined;
}
