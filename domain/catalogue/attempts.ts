/**
 * Models that may answer a request: the requested one and its fallbacks, each checked by its resolved model. All routes
 * use this, so that no alias avoids the limits of a key.
 */
import type { Caller } from '../caller.ts';
import { forbiddenReason } from '../modelAccess.ts';
import type { Catalogue } from './catalogue.ts';
import type { Character } from './character.ts';
import type { Model } from './model.ts';
import { type ModelQuery, modelNamed, type Retirement, resolveModel } from './resolveModel.ts';

export interface AttemptsQuery extends ModelQuery {
  /** Character to answer: its model replaces the requested one, unless it is offline or removed (MODEL-11). */
  character?: Pick<Character, 'modelId'>;
  /** Names of the fallbacks, in order. */
  fallbacks?: readonly string[];
}

/** Terms of a key about models. */
type Permission = Pick<Caller, 'modelPrivacy' | 'models'>;

interface AttemptTerms extends Permission {
  isOffline(model: Model): boolean;
}

interface Attempt {
  model: Model;
  deprecated?: Retirement;
}

export type Attempts =
  | { ok: true; attempts: readonly [Attempt, ...Attempt[]] }
  | { ok: false; code: 'model_not_found' | 'forbidden'; message: string };

/**
 * The first model determines the errors. A fallback that is unknown, of another type, or forbidden for the key is
 * skipped and never called.
 */
export function attemptsOf(
  catalogue: Catalogue,
  asked: AttemptsQuery,
  { isOffline, ...permission }: AttemptTerms,
): Attempts {
  const { character, fallbacks = [], ...wanted } = asked;
  const judged = (name: string) => judge(catalogue, { ...wanted, name }, permission);
  const speaker = character && { ...wanted, name: character.modelId };
  const bound = speaker && modelNamed(catalogue, speaker);
  const first = judged(speaker && bound && !isOffline(bound) ? speaker.name : wanted.name);
  if (!first.ok) return first;
  const attempts: [Attempt, ...Attempt[]] = [first.attempt];
  for (const name of fallbacks) {
    const next = judged(name);
    if (!next.ok || next.attempt.model.type !== asked.type) continue;
    if (attempts.every(({ model }) => model.id !== next.attempt.model.id)) attempts.push(next.attempt);
  }
  return { ok: true, attempts };
}

type AttemptDecision = { ok: true; attempt: Attempt } | Extract<Attempts, { ok: false }>;

function judge(catalogue: Catalogue, wanted: ModelQuery, permission: Permission): AttemptDecision {
  const resolution = resolveModel(catalogue, wanted);
  if (!resolution.ok) return { ok: false, code: 'model_not_found', message: resolution.message };
  const { model, deprecated } = resolution;
  const message = forbiddenReason(model, permission);
  if (message !== undefined) return { ok: false, code: 'forbidden', message };
  return { ok: true, attempt: { model, ...(deprecated && { deprecated }) } };
}
