/** Format of an API key, checked before any lookup. */
import type { KeyType } from './caller.ts';

const SECRET = /^FAREBOX_(?:ADMIN|INFERENCE)_KEY_[A-Za-z0-9_-]{43}$/;

/** 256 random bits with a prefix, so that a leaked key is recognised. */
export function formatSecret(keyType: KeyType, random: Uint8Array): string {
  return `FAREBOX_${keyType}_KEY_${Buffer.from(random).toString('base64url')}`;
}

/** Other texts were never issued and need no lookup. */
export function looksLikeSecret(text: string): boolean {
  return SECRET.test(text);
}
