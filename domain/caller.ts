/** Caller of an accepted credential. */
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
  /** Ids of the models that the key may call; null: all that its privacy setting allows. */
  models: readonly string[] | null;
  /** Null: the key never expires. */
  keyExpiresAt: Date | null;
  /** Wallet of a caller that signed in with it. Its account may not exist yet: a top-up creates it. */
  wallet?: Wallet;
}

/**
 * Key that limits what a caller sees of its account: the jobs of the key and its children, and their remaining limits.
 * Null: the whole account, for ADMIN keys and wallets.
 */
export function keyScopeOf({ keyId, keyType }: Pick<Caller, 'keyId' | 'keyType'>): string | null {
  return keyType === 'ADMIN' ? null : keyId;
}

/** Rights of a key. A child key may do no more than its parent at the moment of the call. */
export interface KeyTerms {
  modelPrivacy: ModelPrivacy;
  /** Ids of the models that it may call; null: all that its privacy setting allows. */
  models: readonly string[] | null;
  /** Null: never. */
  expiresAt: Date | null;
}

/** Strictness of a setting; each excludes all models that lower ones exclude. */
const STRICTNESS: Record<ModelPrivacy, number> = { ALL: 0, PRIVATE_TEXT: 1, PRIVATE_ONLY: 2 };

/** Intersection of both terms. */
export function intersectKeyTerms(one: KeyTerms, other: KeyTerms): KeyTerms {
  return {
    modelPrivacy:
      STRICTNESS[one.modelPrivacy] >= STRICTNESS[other.modelPrivacy] ? one.modelPrivacy : other.modelPrivacy,
    models: inBoth(one.models, other.models),
    expiresAt: earlier(one.expiresAt, other.expiresAt),
  };
}

function inBoth(one: KeyTerms['models'], other: KeyTerms['models']): KeyTerms['models'] {
  if (one === null || other === null) return one ?? other;
  return one.filter((model) => other.includes(model));
}

function earlier(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return one ?? other;
  return one <= other ? one : other;
}
