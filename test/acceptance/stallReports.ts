/** Reads the longest event loop turn and the memory growth of an API process with the stall probe. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../harness/spawn.ts';

export interface StallReport {
  reports: number;
  /** CPU time of the event loop's thread, without time of other processes. */
  longestMs: number;
  mostBytes: number;
  nowBytes: number;
}

const DEADLINE_MS = 60_000;

/** Environment of the process, with the heap size of the compose file. */
export function probeVariables(file: string): Record<string, string> {
  const probe = path.join(ROOT, 'dist/test/harness/stallProbe.js');
  return { NODE_OPTIONS: `--import=${probe} --max-old-space-size=384`, STALL_FILE: file };
}

/** Report since the last one. */
export async function readStall(pid: number, file: string): Promise<StallReport> {
  const before = readReport(file)?.reports ?? 0;
  process.kill(pid, 'SIGUSR2');
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const report = readReport(file);
    if (report && report.reports > before) return report;
    if (performance.now() > deadline) throw new Error('the process does not tell how long it stood still');
    await sleep(10);
  }
}

function readReport(file: string): StallReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as StallReport;
  } catch {
    return undefined;
  }
}
