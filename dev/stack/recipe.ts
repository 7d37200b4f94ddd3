/** How one part's program is looked for and obtained, as data. */
import type { Progress } from './progress.ts';
import { lastOutput, runCommand } from './runCommand.ts';

export interface Recipe {
  part: string;
  /** For the operator. */
  title: string;
  /** What to set when nothing else works, and to what. */
  variable: string;
  variableMeans: string;
  /** Set for parts whose variable is the path of a program. */
  programVariable?: string;
  /** Names on PATH, the preferred first. */
  commands: readonly string[];
  /** Throws, saying why, when the program does not run or is of a version that cannot be used. */
  accept(program: string): Promise<void>;
  sources: readonly Source[];
}

export interface ObtainContext {
  environment: NodeJS.ProcessEnv;
  progress: Progress;
  cache: string;
  accept(program: string): Promise<void>;
}

/** One way to obtain a program. */
export interface Source {
  name: string;
  /** Where the program lies when this way was gone before; undefined when it does not end in the cache. */
  cachedAt(cache: string): string | undefined;
  /** Returns the program's path, or throws saying why not. */
  obtain(context: ObtainContext): Promise<string>;
}

/** What `program --version` says; throws when it does not run. */
export async function versionOf(program: string, flag = '--version'): Promise<string> {
  const result = await runCommand(program, [flag], { timeoutMs: 20_000 });
  if (result.code !== 0) throw new Error(`"${flag}" does not run (${lastOutput(result)})`);
  return result.stdout.trim();
}
