import { readdirSync, readFileSync } from 'node:fs';

/** Counts the processes of this machine that have the word in their arguments. */
export function processesWith(word: string): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => argumentsOf(pid).includes(word)).length;
}

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
