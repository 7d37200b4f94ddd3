/**
 * Which models may answer a request: the one that it asks for, and those it falls back on, each judged by what it really
 * is. Every way to a model leads through here, so that none is a way round what a key may call.
 */
import type { Caller } from '../caller.ts';
import { forbiddenReason } from '../modelAccess.ts';
import type { Catalogue } from './catalogue.ts';
import type { Character } from './character.ts';
import type { Model } from './model.ts';
import { type ModelQuery, type Retirement, resolveModel } from './resolveModel.ts';

export interface AttemptsQuery extends ModelQuery {
  /** Who is to answer: the model that speaks for it stands in the place of the one that was named. */
  character?: Pick<Character, 'modelId'>;
  /** Names of what is tried after the first, in this order. */
  fallbacks?: readonly string[];
}

/** What a key says of models. */
export type Permission = Pick<Caller, 'modelPrivacy' | 'models'>;

interface Attempt {
  model: Model;
  deprecated?: Retirement;
}

export type Attempts =
  | { ok: true; attempts: readonly [Attempt, ...Attempt[]] }
  | { ok: false; code: 'model_not_found' | 'forbidden'; message: string };

/**
 * The first model decides whether there is anything to try. A fallback that nobody knows, that is of another type,
 * or that the key may not call is passed over: it was only the second choice, and is called in no case.
 */
export function attemptsOf(catalogue: Catalogue, asked: AttemptsQuery, permission: Permission): Attempts {
  const { character, fallbacks = [], ...wanted } = asked;
  const judged = (name: string) => judge(catalogue, { ...wanted, name }, permission);
  const first = judged(character?.modelId ?? wanted.name);
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
