/** Size of texts that are encrypted end to end: what they say cannot be read, and is shorter than they are. */

/** Bytes of secp256k1 and AES-GCM: the public key of the sender (65), the nonce (12) and the tag (16). */
const BYTES_AROUND = 93;
const BYTES_PER_TOKEN = 4;

/** Tokens of an encrypted text in hex, by its length; any piece has one at least. */
export function tokensOfSealed({ length }: string): number {
  return length === 0 ? 0 : Math.max(1, Math.ceil((length / 2 - BYTES_AROUND) / BYTES_PER_TOKEN));
}
