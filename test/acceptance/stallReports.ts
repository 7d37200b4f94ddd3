/** Asks an API process that was started with the stall probe how long its longest turn was, and how much it grew. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../harness/spawn.ts';

export interface StallReport {
  reports: number;
  /** Of the event loop's thread on a core: what other processes take of the machine does not count. */
  longestMs: number;
  mostBytes: number;
  nowBytes: number;
}

const DEADLINE_MS = 60_000;

/** For the environment of the process. Its heap is that of the compose file. */
export function probeVariables(file: string): Record<string, string> {
  const probe = path.join(ROOT, 'dist/test/harness/stallProbe.js');
  return { NODE_OPTIONS: `--import=${probe} --max-old-space-size=384`, STALL_FILE: file };
}

/** Since the last report. */
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
