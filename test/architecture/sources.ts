import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { FLOORS } from './floors.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Every source file of the repository, as a path from its root with `/`. */
export function sourceFiles(): string[] {
  const inFloors = FLOORS.flatMap((floor) => walk(floor));
  const atRoot = readdirSync(ROOT).filter(isSource);
  return [...atRoot, ...inFloors].sort();
}

export function readSource(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

function walk(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const inner = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : walk(inner);
    return isSource(entry.name) ? [inner] : [];
  });
}

function isSource(name: string): boolean {
  return /\.(ts|mts|js|mjs|cjs)$/.test(name) && !/\.d\.m?ts$/.test(name);
}
