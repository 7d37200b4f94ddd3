/** Finds the model that answers to the name in a request (MODEL-7 to MODEL-10). */
import { RETIRED } from './builtin/names.ts';
import { type Catalogue, spellingOf } from './catalogue.ts';
import type { Model, ModelType } from './model.ts';

export interface ModelQuery {
  /** Name as the client wrote it: an id, an alias, or a trait of the type. */
  name: string;
  /** Type of the route, whose traits and aliases count. */
  type: ModelType;
  /** ISO time of the request: a retired model is gone from its day of removal. */
  now: string;
}

export type Resolution = { ok: true; model: Model; deprecated?: Retirement } | { ok: false; message: string };

/** Deprecated model that the request named, by any name. */
export interface Retirement {
  id: string;
  date: string;
  removesAt: string;
  replacement?: string;
}

export const NOT_FOUND = 'Specified model not found';

/**
 * Resolves an id first, then an alias, then a trait. After its removal a model is replaced if its entry says so
 * (`autoRemap`), otherwise it is unknown. Before, it answers itself, with the notice in `deprecated`.
 */
export function resolveModel(catalogue: Catalogue, wanted: ModelQuery): Resolution {
  const named = findByName(catalogue, wanted);
  if (!named) return { ok: false, message: notFound(catalogue, wanted) };
  const deprecated = retirementOf(catalogue, named, wanted.now);
  if (!deprecated) return { ok: true, model: named };
  const model = answering(catalogue, named, wanted.now);
  if (model) return { ok: true, model, deprecated };
  return { ok: false, message: `${NOT_FOUND}. ${retiredWords(named.id, deprecated.replacement)}` };
}

/** Resolves a name without an error message. */
export function modelNamed(catalogue: Catalogue, wanted: ModelQuery): Model | undefined {
  const named = findByName(catalogue, wanted);
  return named && answering(catalogue, named, wanted.now);
}

function answering({ byId }: Catalogue, named: Model, now: string): Model | undefined {
  const deprecation = named.listing?.deprecation;
  if (deprecation === undefined || now < deprecation.removesAt) return named;
  return deprecation.autoRemap ? byId.get(deprecation.replacementModelId ?? '') : undefined;
}

/** Undefined without an announcement. */
function retirementOf({ byId }: Catalogue, named: Model, now: string): Retirement | undefined {
  const deprecation = named.listing?.deprecation;
  if (deprecation === undefined || now < (deprecation.startsAt ?? '')) return undefined;
  const { date, removesAt, replacementModelId } = deprecation;
  const replacement = byId.get(replacementModelId ?? '')?.id;
  return { id: named.id, date, removesAt, ...(replacement === undefined ? {} : { replacement }) };
}

function findByName(catalogue: Catalogue, { name, type }: ModelQuery): Model | undefined {
  const { byId, bySpelling, compatibility, traits } = catalogue;
  const known = byId.get(name);
  if (known) return known;
  const id = compatibility[type].get(name) ?? traits[type].get(name) ?? bySpelling.get(spellingOf(name));
  return id === undefined ? undefined : byId.get(id);
}

function notFound(catalogue: Catalogue, wanted: ModelQuery): string {
  if (RETIRED.has(wanted.name)) return `${NOT_FOUND}. ${retiredWords(wanted.name, undefined)}`;
  const near = nearest(catalogue, wanted);
  return near === undefined ? NOT_FOUND : `${NOT_FOUND}. Did you mean ${near}?`;
}

function retiredWords(id: string, replacement: string | undefined): string {
  const hint = replacement === undefined ? '' : ` Please use ${replacement} instead.`;
  return `The model ${id} has been deprecated.${hint}`;
}

/** Longer names match no id: comparing them would only take time. */
const MAX_NAME_LENGTH = 128;

/** Nearest id of the route's type, for a misspelled name: at most a fifth of its letters differ. */
function nearest({ models }: Catalogue, { name, type }: ModelQuery): string | undefined {
  if (name.length > MAX_NAME_LENGTH) return undefined;
  const typed = name.toLowerCase();
  let best: { id: string; distance: number } | undefined;
  for (const { id, type: itsType } of models) {
    const most = Math.min(3, Math.floor(id.length / 5));
    if (itsType !== type || Math.abs(id.length - typed.length) > most) continue;
    const distance = editDistance(typed, id.toLowerCase());
    if (distance <= most && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { id, distance };
  }
  return best?.id;
}

/** Levenshtein distance of two texts. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let at = 1; at <= left.length; at += 1) {
    const next = [at];
    for (let to = 1; to <= right.length; to += 1) {
      const changed = (row[to - 1] ?? 0) + (left[at - 1] === right[to - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
