/** The text of an API key: what it looks like, before anybody asks whether it exists. */
import type { KeyType } from './caller.ts';

const SECRET = /^FAREBOX_(?:ADMIN|INFERENCE)_KEY_[A-Za-z0-9_-]{43}$/;

/** 256 random bits behind a prefix that says what the key is, so that a leaked one is recognised for what it is. */
export function formatSecret(keyType: KeyType, random: Uint8Array): string {
  return `FAREBOX_${keyType}_KEY_${Buffer.from(random).toString('base64url')}`;
}

/** Anything else was never issued and need not be looked up. */
export function looksLikeSecret(text: string): boolean {
  return SECRET.test(text);
}
