export interface ProcessIdentity {
  pid: number;
  /** Boot id and start time in clock ticks since boot; empty where there is no /proc. */
  started: string;
}
export function identify(pid: number): ProcessIdentity | undefined;
export function isAlive(identity: ProcessIdentity): boolean;
