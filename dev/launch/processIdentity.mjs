/**
 * Identity of a process that a reused process id never matches. Plain JavaScript, because launchers use it before
 * anything is installed or built.
 */
import { readFileSync } from 'node:fs';

/** Process id, with boot id and start time in clock ticks (empty without /proc). */
export function identify(pid) {
  const started = startOf(pid);
  return started === undefined ? undefined : { pid, started };
}

export function isAlive({ pid, started }) {
  return startOf(pid) === started;
}

function startOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return startWithoutProc(pid);
  // The command name in parentheses may contain spaces, so fields are counted after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A zombie has ended. Its parent has just not reaped it yet.
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return `${read('/proc/sys/kernel/random/boot_id')?.trim()}:${fields[19]}`;
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function startWithoutProc(pid) {
  if (process.platform === 'linux') return undefined;
  try {
    process.kill(pid, 0);
    return '';
  } catch (error) {
    return error.code === 'EPERM' ? '' : undefined;
  }
}
