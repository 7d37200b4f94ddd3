/** The real parts that Farebox needs, and how one is started. */
import { processEnvironment } from '../../infra/config/environment.ts';

export const PART_NAMES = ['postgres', 'redis', 's3', 'temporal', 'ffmpeg', 'ffprobe'] as const;
export type PartName = (typeof PART_NAMES)[number];

/** Without such a part some models are offline; the service starts. */
export const OPTIONAL_PART_NAMES = ['espeak', 'pocketsphinx'] as const;
export type OptionalPartName = (typeof OPTIONAL_PART_NAMES)[number];

/** A program that was found or obtained; it needs nothing but its path to run. */
export interface FoundProgram {
  path: string;
  /** For the operator: "PATH", "cache", "Debian package" … */
  origin: string;
}

/** One process of the stack, as data: what to run, when it is ready, how it is asked to stop. */
export interface PartProcess {
  name: string;
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Tries once; throws while the part does not answer yet. */
  check(pid: number): Promise<void>;
  /** Whether what `check` threw is an answer all the same: a part that is busy or full is not stuck. */
  isAnswer?(error: unknown): boolean;
  readyTimeoutMs: number;
  stopSignal: NodeJS.Signals;
  stopTimeoutMs: number;
}

/** Environment of a part: the paths of programs, and nothing that would change its behaviour. */
export function partEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  return { PATH: processEnvironment().PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...extra };
}
