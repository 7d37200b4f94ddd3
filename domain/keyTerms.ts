/** What a key may do and until when; a child key may do no more than its parent at the moment of the call. */
import type { ModelPrivacy } from './caller.ts';

export interface KeyTerms {
  modelPrivacy: ModelPrivacy;
  /** Ids of the only models that it may call; null: all that its privacy setting allows. */
  models: readonly string[] | null;
  /** Null: never. */
  expiresAt: Date | null;
}

/** How much a setting shuts out; each shuts out all that the ones below it do. */
const STRICTNESS: Record<ModelPrivacy, number> = { ALL: 0, PRIVATE_TEXT: 1, PRIVATE_ONLY: 2 };

/** What both allow. */
export function narrower(one: KeyTerms, other: KeyTerms): KeyTerms {
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
