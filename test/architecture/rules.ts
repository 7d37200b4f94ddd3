/** Checks one file's facts against the floors. Each violation has the place, the finding and the reason of the rule. */
import path from 'node:path';
import type { FileFacts, ImportFact } from './facts.ts';
import {
  CONSOLE_PLACES,
  DATA_FILES,
  FLOOR_RULES,
  floorOf,
  LAUNCHERS,
  MAX_FILE_LINES,
  MAX_FUNCTION_LINES,
  MAX_PARAMETERS,
  PACKAGE_PLACES,
  SHARED_API_FOLDERS,
  SOCKET_FREE_NAMES,
  SOCKET_MODULES,
  SOCKET_PLACES,
  USE_RULES,
} from './floors.ts';

/** Lines of the form `path:line: what: why`, in the order of the file. */
export function violationsOf(facts: FileFacts): string[] {
  return [...importViolations(facts), ...useViolations(facts), ...sizeViolations(facts)];
}

/** Repository file of an import, as a path from the root. Undefined for packages and `node:` modules. */
export function ownTarget(from: string, specifier: string): string | undefined {
  return specifier.startsWith('.') ? path.posix.join(path.posix.dirname(from), specifier) : undefined;
}

function startsWithAny(subject: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => subject.startsWith(prefix));
}

function importViolations(facts: FileFacts): string[] {
  const floor = floorOf(facts.path);
  return facts.imports.flatMap((fact) => {
    const at = `${facts.path}:${fact.line}`;
    if (fact.specifier === undefined) {
      const free = floor === 'test' || floor === 'bench' || facts.path.startsWith('dev/launch/');
      return free ? [] : [`${at}: an import computed at run time: the floors cannot be checked`];
    }
    const why = forbiddenImport(facts.path, { ...fact, specifier: fact.specifier });
    return why === undefined ? [] : [`${at}: imports ${fact.specifier}: ${why}`];
  });
}

type NamedImport = ImportFact & { specifier: string };

function forbiddenImport(from: string, fact: NamedImport): string | undefined {
  const target = ownTarget(from, fact.specifier);
  if (target !== undefined) return forbiddenOwn(from, target, fact);
  if (fact.specifier.startsWith('node:')) return forbiddenNode(from, fact);
  return forbiddenPackage(from, fact);
}

function forbiddenOwn(from: string, target: string, fact: NamedImport): string | undefined {
  const floor = floorOf(from);
  if (floor === undefined) return undefined;
  if (!/\.(ts|mts|mjs|js|json)$/.test(target)) return 'a relative import names its file with the extension';
  const subject = subjectOf(from);
  const other = subjectOf(target);
  if (subject !== undefined && other !== undefined && subject !== other) {
    return 'folders of subjects in api/ do not import each other';
  }
  if (from.startsWith(LAUNCHERS.folder)) {
    return startsWithAny(target, LAUNCHERS.own) ? undefined : 'a launcher loads what was built';
  }
  const rule = FLOOR_RULES[floor];
  if (startsWithAny(target, rule.own)) return undefined;
  if (fact.typeOnly && startsWithAny(target, rule.typesOf ?? [])) return undefined;
  return `${floor}/ may import ${rule.own.join(', ')} only`;
}

/** Subject folder of a path in api/: `billing` for api/billing/balance.ts. */
function subjectOf(file: string): string | undefined {
  const folder = /^api\/([^/]+)\//.exec(file)?.[1];
  return folder === undefined || (SHARED_API_FOLDERS as readonly string[]).includes(folder) ? undefined : folder;
}

function forbiddenNode(from: string, fact: NamedImport): string | undefined {
  const floor = floorOf(from);
  if (floor === undefined || fact.typeOnly) return undefined;
  if (!FLOOR_RULES[floor].node) return `${floor}/ is true without a machine: no node: modules`;
  const module = fact.specifier.slice('node:'.length);
  if (!(SOCKET_MODULES as readonly string[]).includes(module)) return undefined;
  if (startsWithAny(from, SOCKET_PLACES)) return undefined;
  const free =
    fact.names.length > 0 && fact.names.every((name) => (SOCKET_FREE_NAMES as readonly string[]).includes(name));
  return free ? undefined : 'the outside world has one door: infra/http';
}

function forbiddenPackage(from: string, fact: NamedImport): string | undefined {
  const floor = floorOf(from);
  if (floor === undefined || floor === 'test' || floor === 'bench') return undefined;
  if (floor === 'domain') return 'domain/ has no packages';
  const name = fact.specifier.split('/', fact.specifier.startsWith('@') ? 2 : 1).join('/');
  const places = Object.hasOwn(PACKAGE_PLACES, name) ? PACKAGE_PLACES[name] : undefined;
  if (places === undefined) return 'a package without a place: give it one in test/architecture/floors.ts';
  if (startsWithAny(from, places)) return undefined;
  if (fact.typeOnly && floor !== 'workflows') return undefined;
  return `its place is ${places.join(', ')}`;
}

function useViolations(facts: FileFacts): string[] {
  return facts.uses.flatMap(({ line, what }) => {
    const at = `${facts.path}:${line}: ${what}`;
    if (what.startsWith('console.')) {
      return startsWithAny(facts.path, CONSOLE_PLACES) ? [] : [`${at}: log with infra/log.ts`];
    }
    return USE_RULES.filter((rule) => rule.uses.includes(what))
      .filter(
        ({ forbidden, allowed = [] }) =>
          (!forbidden || startsWithAny(facts.path, forbidden)) && !startsWithAny(facts.path, allowed),
      )
      .map((rule) => `${at}: ${rule.reason}`);
  });
}

function sizeViolations(facts: FileFacts): string[] {
  if (startsWithAny(facts.path, DATA_FILES)) return [];
  const file = facts.lines > MAX_FILE_LINES ? [`${facts.path}:1: ${facts.lines} lines, at most ${MAX_FILE_LINES}`] : [];
  const functions = facts.functions.flatMap((each) => {
    const at = `${facts.path}:${each.line}: a function`;
    const tooLong = each.lines > MAX_FUNCTION_LINES && !each.testSuite;
    return [
      ...(tooLong ? [`${at} of ${each.lines} lines, at most ${MAX_FUNCTION_LINES}`] : []),
      ...(each.parameters > MAX_PARAMETERS && floorOf(facts.path) !== 'test'
        ? [`${at} with ${each.parameters} parameters, at most ${MAX_PARAMETERS}: take one object`]
        : []),
    ];
  });
  return [...file, ...functions];
}
