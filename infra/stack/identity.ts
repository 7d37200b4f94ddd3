/** A process named so that a reused process id is never mistaken for it. */
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  pid: number;
  /** Boot id and start time in clock ticks since boot; empty where there is no /proc. */
  started: string;
}

export function identify(pid: number): ProcessIdentity | undefined {
  const started = startOf(pid);
  return started === undefined ? undefined : { pid, started };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return startOf(identity.pid) === identity.started;
}

function startOf(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return startWithoutProc(pid);
  }
  // The command name, in parentheses, may hold spaces: fields are counted after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state = 'X', startTicks = ''] = [fields[0], fields[19]];
  if (state === 'Z' || state === 'X') return undefined;
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${startTicks}`;
}

function startWithoutProc(pid: number): string | undefined {
  if (process.platform === 'linux') return undefined;
  try {
    process.kill(pid, 0);
    return '';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? '' : undefined;
  }
}
