import type { FileFacts } from './facts.ts';
import { ownTarget } from './rules.ts';

/**
 * Import cycles, each as its list of files. The first file loaded finds the others incomplete at run time, and files
 * joined by types only cannot be read or moved apart.
 */
export function importCycles(files: readonly FileFacts[]): string[][] {
  const targets = new Map(files.map((facts) => [facts.path, targetsOf(facts)]));
  const done = new Set<string>();
  const cycles: string[][] = [];
  const visit = (file: string, trail: string[]): void => {
    const start = trail.indexOf(file);
    if (start !== -1) cycles.push(trail.slice(start));
    if (start !== -1 || done.has(file)) return;
    for (const next of targets.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of targets.keys()) visit(file, []);
  return cycles;
}

function targetsOf(facts: FileFacts): string[] {
  return facts.imports.flatMap(({ specifier }) => {
    const target = specifier === undefined ? undefined : ownTarget(facts.path, specifier);
    return target === undefined ? [] : [target];
  });
}
