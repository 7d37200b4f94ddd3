import type { ProcessIdentity } from './processIdentity.d.mts';

export interface LockOptions {
  /** Default: 20 minutes, the maximum duration of a build. */
  timeoutMs?: number;
  onWait?: (holder: ProcessIdentity) => void;
}
export function withLock<T>(file: string, work: () => T | Promise<T>, options?: LockOptions): Promise<T>;
export function tryLock<Details extends object>(
  file: string,
  details?: Details,
): (ProcessIdentity & Partial<Details>) | undefined;
