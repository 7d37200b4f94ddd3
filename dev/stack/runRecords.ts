/** Records of the processes on a data folder, in `run/`, so that the next start finds those of a killed supervisor. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify, isAlive, type ProcessIdentity } from '../launch/processIdentity.mjs';

export interface Stoppable {
  name: string;
  stopSignal: NodeJS.Signals;
  stopTimeoutMs: number;
}

interface RunRecord extends ProcessIdentity, Stoppable {}

export function writeRecord(folder: string, target: Stoppable, pid: number): void {
  const identity = identify(pid);
  if (identity === undefined) return;
  const { name, stopSignal, stopTimeoutMs } = target;
  const record: RunRecord = { name, ...identity, stopSignal, stopTimeoutMs };
  mkdirSync(path.join(folder, 'run'), { recursive: true });
  writeFileSync(path.join(folder, 'run', `${name}.json`), JSON.stringify(record), { mode: 0o600 });
}

/** Stops all recorded processes that still run, services before parts. Returns their names. */
export async function stopOrphans(folder: string): Promise<string[]> {
  const orphans = readRecords(folder).filter(isAlive);
  const services = orphans.filter((record) => isService(record.name));
  const parts = orphans.filter((record) => !isService(record.name));
  await Promise.all(services.map(stopOne));
  await Promise.all(parts.map(stopOne));
  rmSync(path.join(folder, 'run'), { recursive: true, force: true });
  return orphans.map((record) => record.name);
}

/** Kills without waiting, for a process that is about to exit. */
export function killRecorded(folder: string): void {
  for (const record of readRecords(folder)) signal(record, 'SIGKILL');
}

function isService(name: string): boolean {
  return name.startsWith('api') || name.startsWith('worker');
}

function readRecords(folder: string): RunRecord[] {
  const run = path.join(folder, 'run');
  let names: string[];
  try {
    names = readdirSync(run);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    try {
      return [JSON.parse(readFileSync(path.join(run, name), 'utf8')) as RunRecord];
    } catch {
      // Incomplete record of a killed process.
      return [];
    }
  });
}

async function stopOne(record: RunRecord): Promise<void> {
  signal(record, record.stopSignal);
  const deadline = Date.now() + record.stopTimeoutMs;
  while (isAlive(record) && Date.now() < deadline) await sleep(25);
  signal(record, 'SIGKILL');
  const killDeadline = Date.now() + 5_000;
  while (isAlive(record) && Date.now() < killDeadline) await sleep(25);
}

function signal(record: RunRecord, name: NodeJS.Signals): void {
  if (!isAlive(record)) return;
  try {
    process.kill(record.pid, name);
  } catch {
    // It ended meanwhile, or belongs to another user. The caller's deadline applies.
  }
}
