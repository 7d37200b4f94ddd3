/** Who is calling, once the credential was accepted. */
import type { Wallet } from './wallets.ts';

export const KEY_TYPES = ['ADMIN', 'INFERENCE'] as const;
export type KeyType = (typeof KEY_TYPES)[number];

/** Privacy settings of a key (ACCOUNT-1). */
export const MODEL_PRIVACIES = ['ALL', 'PRIVATE_TEXT', 'PRIVATE_ONLY'] as const;
export type ModelPrivacy = (typeof MODEL_PRIVACIES)[number];

export interface Caller {
  accountId: string;
  /** Null for callers without an API key. */
  keyId: string | null;
  keyType: KeyType;
  modelPrivacy: ModelPrivacy;
  /** Ids of the only models that the key may call; null: all that its privacy setting allows. */
  models: readonly string[] | null;
  /** Null: the key never expires. */
  keyExpiresAt: Date | null;
  /** Of callers who signed in with one instead of an API key. Their account may not exist yet: it begins with a top-up. */
  wallet?: Wallet;
}

/**
 * The key that bounds what a caller sees of its account: the jobs of that key and of its children, and what it can still
 * spend. Null: all of the account, for ADMIN keys and for wallets, which have no key.
 */
export function keyScopeOf({ keyId, keyType }: Pick<Caller, 'keyId' | 'keyType'>): string | null {
  return keyType === 'ADMIN' ? null : keyId;
}
