/** The names that models of the configuration file answer to, or hand on to, held against the whole catalogue. */
import { BUILT_IN_MODELS } from '../../domain/catalogue/catalogue.ts';
import { problem } from './problems.ts';
import type { ModelEntry } from './schema/models.ts';

/** Lines of the form `path: found …, allowed: …`: an alias is nobody's id and nobody else's alias; a replacement exists. */
export function checkNames(entries: readonly ModelEntry[]): string[] {
  const ids = new Set([...BUILT_IN_MODELS, ...entries].map((model) => model.id));
  const owners = new Map<string, number>();
  return entries.flatMap((entry, index) => [
    ...(entry.aliases ?? []).flatMap((alias, at) => {
      const written = JSON.stringify(alias);
      const owner = owners.get(alias);
      owners.set(alias, index);
      if (ids.has(alias)) return [aliasProblem(index, at, `${written}, which is the id of a model`)];
      return owner === undefined
        ? []
        : [aliasProblem(index, at, `${written}, which models[${owner}] has already`)];
    }),
    ...checkReplacement(entry, index, ids),
  ]);
}

function aliasProblem(index: number, at: number, found: string): string {
  return problem(['models', index, 'aliases', at], found, 'a name that no other model has');
}

function checkReplacement(entry: ModelEntry, index: number, ids: ReadonlySet<string>): string[] {
  const named = entry.spec.deprecation?.replacementModelId;
  if (named === undefined || (ids.has(named) && named !== entry.id)) return [];
  const path = ['models', index, 'spec', 'deprecation', 'replacementModelId'];
  return [problem(path, JSON.stringify(named), 'the id of another model of the catalogue')];
}
