/** Base58 as Solana writes keys and signatures with it. */
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const VALUES = new Map([...ALPHABET].map((character, value) => [character, BigInt(value)]));

/**
 * So many bytes, or undefined when it is not the one spelling of so many: each leading `1` is a zero byte, neither more nor
 * fewer of them than there are.
 */
export function decodeBase58(text: string, length: number): Uint8Array | undefined {
  if (text.length > length * 2) return undefined;
  let number = 0n;
  for (const character of text) {
    const value = VALUES.get(character);
    if (value === undefined) return undefined;
    number = number * 58n + value;
  }
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  const digits = number === 0n ? '' : number.toString(16);
  const rest = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  if (zeros + rest.length !== length) return undefined;
  const bytes = new Uint8Array(length);
  bytes.set(rest, zeros);
  return bytes;
}
