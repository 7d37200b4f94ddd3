/**
 * Finds the programs of the parts by environment variable, PATH or cache, or obtains them into the cache. Otherwise
 * throws an error that lists each attempt and why it failed.
 */
import { access } from 'node:fs/promises';
import path from 'node:path';
import { isExecutable, onPath } from './onPath.ts';
import type { FoundProgram, OptionalPartName, PartName } from './part.ts';
import type { Progress } from './progress.ts';
import type { Recipe } from './recipe.ts';
import { ffmpegRecipe, ffprobeRecipe } from './recipes/ffmpeg.ts';
import { objectStoreRecipe } from './recipes/objectStore.ts';
import { postgresRecipe } from './recipes/postgres.ts';
import { redisRecipe } from './recipes/redis.ts';
import { espeakRecipe, pocketsphinxRecipe } from './recipes/speech.ts';
import { temporalRecipe } from './recipes/temporal.ts';

export interface LocateOptions {
  environment: NodeJS.ProcessEnv;
  progress: Progress;
  /** Required major version of Postgres: that of the existing cluster. */
  postgresMajor?: number;
}

const RECIPES: Record<PartName | OptionalPartName, (options: LocateOptions) => Recipe> = {
  postgres: ({ postgresMajor }) => postgresRecipe(postgresMajor),
  redis: () => redisRecipe,
  s3: () => objectStoreRecipe,
  temporal: () => temporalRecipe,
  ffmpeg: () => ffmpegRecipe,
  ffprobe: () => ffprobeRecipe,
  espeak: () => espeakRecipe,
  pocketsphinx: ({ environment }) => pocketsphinxRecipe(environment.POCKETSPHINX_MODEL),
};

export class PartMissing extends Error {
  readonly part: string;

  constructor(part: string, message: string) {
    super(message);
    this.name = 'PartMissing';
    this.part = part;
  }
}

export type Programs<Name extends PartName | OptionalPartName> = Record<Name, FoundProgram>;

/** Searches all `names` at once, then obtains missing ones one after the other. Throws PartMissing. */
export async function locateParts<Name extends PartName | OptionalPartName>(
  names: readonly Name[],
  options: LocateOptions,
): Promise<Programs<Name>> {
  const recipes = names.map((name) => RECIPES[name](options));
  const searches = await Promise.all(recipes.map((recipe) => search(recipe, options)));
  const programs: [Name, FoundProgram][] = [];
  for (const [index, name] of names.entries()) {
    const [recipe, found] = [recipes[index], searches[index]];
    if (recipe === undefined || found === undefined) continue;
    programs.push([name, 'path' in found ? found : await obtain(recipe, options, found.tried)]);
  }
  return Object.fromEntries(programs) as Programs<Name>;
}

/** Locates a program that is not part of the service. Throws PartMissing. */
export async function locateProgram(recipe: Recipe, options: LocateOptions): Promise<FoundProgram> {
  const found = await search(recipe, options);
  return 'path' in found ? found : await obtain(recipe, options, found.tried);
}

/** `$XDG_CACHE_HOME/farebox` or `~/.cache/farebox`. */
export function cacheFolder(environment: NodeJS.ProcessEnv): string {
  const { XDG_CACHE_HOME, HOME } = environment;
  // XDG requires relative paths to be ignored.
  const base = XDG_CACHE_HOME && path.isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : undefined;
  return path.join(base ?? path.join(HOME || '/tmp', '.cache'), 'farebox');
}

async function search(recipe: Recipe, options: LocateOptions): Promise<FoundProgram | { tried: string[] }> {
  const { environment } = options;
  const explicit = recipe.programVariable && environment[recipe.programVariable];
  if (explicit) return explicitProgram(recipe, explicit, environment);
  const tried: string[] = [];
  for (const command of recipe.commands) {
    const program = onPath(command, environment.PATH);
    if (program === undefined) tried.push(`PATH: no "${command}"`);
    else if (await accepted(recipe, program, { tried, where: `PATH: ${program}` })) {
      return { path: program, origin: 'PATH' };
    }
  }
  const cache = cacheFolder(environment);
  for (const source of recipe.sources) {
    const program = source.cachedAt(cache);
    if (program === undefined) continue;
    if (!isExecutable(program)) tried.push(`cache: no ${program}`);
    else if (await accepted(recipe, program, { tried, where: `cache: ${program}` })) {
      return { path: program, origin: 'cache' };
    }
  }
  return { tried };
}

/** An explicit program is used or refused, never replaced. A bare name is looked up on PATH. */
async function explicitProgram(recipe: Recipe, value: string, environment: NodeJS.ProcessEnv): Promise<FoundProgram> {
  const program = value.includes(path.sep) ? path.resolve(value) : onPath(value, environment.PATH);
  const variable = recipe.programVariable;
  if (program === undefined) throw new PartMissing(recipe.part, `${variable} names "${value}", not on PATH`);
  try {
    await access(program);
    await recipe.accept(program);
  } catch (error) {
    throw new PartMissing(recipe.part, `${variable} names ${program}, which cannot be used: ${reasonOf(error)}`);
  }
  return { path: program, origin: String(variable) };
}

async function accepted(
  recipe: Recipe,
  program: string,
  attempt: { tried: string[]; where: string },
): Promise<boolean> {
  try {
    await recipe.accept(program);
    return true;
  } catch (error) {
    attempt.tried.push(`${attempt.where}: ${reasonOf(error)}`);
    return false;
  }
}

async function obtain(recipe: Recipe, options: LocateOptions, tried: string[]): Promise<FoundProgram> {
  const context = { ...options, cache: cacheFolder(options.environment), accept: recipe.accept };
  for (const source of recipe.sources) {
    try {
      const found = await source.obtain(context);
      await recipe.accept(found);
      return { path: found, origin: source.name };
    } catch (error) {
      tried.push(`${source.name}: ${reasonOf(error)}`);
    }
  }
  const list = tried.map((line) => `  - ${line}`).join('\n');
  throw new PartMissing(
    recipe.part,
    `${recipe.title} was not found and could not be obtained. Tried, in this order:\n${list}\n` +
      `Set ${recipe.variable} to ${recipe.variableMeans}.`,
  );
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
