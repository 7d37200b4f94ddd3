/** Description of how the program of a part is found and obtained. */
import type { Progress } from './progress.ts';
import { lastOutput, runCommand } from './runCommand.ts';

export interface Recipe {
  part: string;
  title: string;
  /** Variable to set when all else fails, and its value. */
  variable: string;
  variableMeans: string;
  /** Set when the variable is the path of a program. */
  programVariable?: string;
  /** Names on PATH, preferred first. */
  commands: readonly string[];
  /** Throws with the reason when the program does not run or its version is unsuitable. */
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
  /** Path of the program from an earlier run. Undefined when this source does not use the cache. */
  cachedAt(cache: string): string | undefined;
  /** Returns the path of the program. Throws with the reason. */
  obtain(context: ObtainContext): Promise<string>;
}

/** Output of `program --version`. Throws when it fails. */
export async function versionOf(program: string, flag = '--version'): Promise<string> {
  const result = await runCommand(program, [flag], { timeoutMs: 20_000 });
  if (result.code !== 0) throw new Error(`"${flag}" does not run (${lastOutput(result)})`);
  return result.stdout.trim();
}
