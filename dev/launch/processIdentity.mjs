/**
 * A process named so that a reused process id is never mistaken for it. Plain JavaScript, since the launchers use it
 * before anything is installed or built.
 */
import { readFileSync } from 'node:fs';

/** Who runs under that id now: the id, and boot id with start time in clock ticks (empty where there is no /proc). */
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
  // The command name, in parentheses, may hold spaces: fields are counted after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A zombie has ended; only its parent has not asked yet.
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
