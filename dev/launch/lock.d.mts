import type { ProcessIdentity } from './processIdentity.d.mts';

export interface LockOptions {
  /** 20 minutes unless told: as long as the longest build may take. */
  timeoutMs?: number;
  onWait?: (holder: ProcessIdentity) => void;
}
export function withLock<T>(file: string, work: () => T | Promise<T>, options?: LockOptions): Promise<T>;
export function tryLock<Details extends object>(
  file: string,
  details?: Details,
): (ProcessIdentity & Partial<Details>) | undefined;
