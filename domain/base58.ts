/** Base58 in the alphabet of Bitcoin and Solana. Time is quadratic in the length: callers limit it. */

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const VALUES = new Map([...ALPHABET].map((character, value) => [character, value]));

export function toBase58(bytes: Uint8Array): string {
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros += 1;
  const digits = inBase(58, { digits: bytes, base: 256 });
  return '1'.repeat(zeros) + digits.reduce((text, digit) => text + ALPHABET[digit], '');
}

/** Undefined: the text has another character. */
export function fromBase58(text: string): Uint8Array | undefined {
  const values = [...text].map((character) => VALUES.get(character));
  const digits = values.filter((value) => value !== undefined);
  if (digits.length < values.length) return undefined;
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  const bytes = inBase(256, { digits, base: 58 });
  return Uint8Array.from([...new Array<number>(zeros).fill(0), ...bytes]);
}

/** Converts digits to another base, most significant first and without leading zeros. */
function inBase(base: number, from: { digits: Iterable<number>; base: number }): number[] {
  const digits: number[] = [];
  for (const digit of from.digits) {
    let carry = digit;
    for (let index = 0; index < digits.length; index += 1) {
      carry += (digits[index] ?? 0) * from.base;
      digits[index] = carry % base;
      carry = Math.floor(carry / base);
    }
    for (; carry > 0; carry = Math.floor(carry / base)) digits.push(carry % base);
  }
  return digits.reverse();
}

/** Decodes exactly this many bytes in their canonical spelling; undefined otherwise. */
export function bytesOfBase58(text: string, length: number): Uint8Array | undefined {
  // Longest text for this many bytes: longer ones are not decoded.
  if (text.length > length * 2) return undefined;
  const bytes = fromBase58(text);
  return bytes?.length === length ? bytes : undefined;
}
