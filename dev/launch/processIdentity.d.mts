export interface ProcessIdentity {
  pid: number;
  /** Boot id and start time in clock ticks since boot. Empty without /proc. */
  started: string;
}
export function identify(pid: number): ProcessIdentity | undefined;
export function isAlive(identity: ProcessIdentity): boolean;
