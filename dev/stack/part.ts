/** The parts that Farebox needs, and the description of their processes. */
import { processEnvironment } from '../../infra/config/environment.ts';

export const PART_NAMES = ['postgres', 'redis', 's3', 'temporal', 'ffmpeg', 'ffprobe'] as const;
export type PartName = (typeof PART_NAMES)[number];

/** The service starts without these, with some models offline. */
export const OPTIONAL_PART_NAMES = ['espeak', 'pocketsphinx'] as const;
export type OptionalPartName = (typeof OPTIONAL_PART_NAMES)[number];

/** Program that was found or obtained. It runs without further settings. */
export interface FoundProgram {
  path: string;
  /** Shown to the operator: "PATH", "cache", "Debian package" … */
  origin: string;
}

/** Description of one process: command, readiness check, stop signal. */
export interface PartProcess {
  name: string;
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Makes one attempt. Throws while the part does not answer. */
  check(pid: number): Promise<void>;
  /** Whether an error of `check` proves that the part works: a busy or full part is not stuck. */
  isAnswer?(error: unknown): boolean;
  readyTimeoutMs: number;
  stopSignal: NodeJS.Signals;
  stopTimeoutMs: number;
}

/** Environment of a part, without variables that could change its behaviour. */
export function partEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  return { PATH: processEnvironment().PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...extra };
}
