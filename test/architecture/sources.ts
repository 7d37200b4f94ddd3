import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { FLOORS } from './floors.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Every source file of the repository, as a path from its root with `/`. */
export function sourceFiles(): string[] {
  return filesWith(isSource, FLOORS);
}

/** Files by name at the root and in `folders`, in the form of `sourceFiles`. */
export function filesWith(isWanted: (name: string) => boolean, folders: readonly string[]): string[] {
  const inFolders = folders.flatMap((folder) => walk(folder, isWanted));
  const atRoot = readdirSync(ROOT, { withFileTypes: true }).filter((entry) => entry.isFile());
  return [...atRoot.map(({ name }) => name).filter(isWanted), ...inFolders].sort();
}

export function readSource(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

function walk(folder: string, isWanted: (name: string) => boolean): string[] {
  return readdirSync(path.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const inner = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : walk(inner, isWanted);
    return isWanted(entry.name) ? [inner] : [];
  });
}

function isSource(name: string): boolean {
  return /\.(ts|mts|js|mjs|cjs)$/.test(name) && !/\.d\.m?ts$/.test(name);
}
