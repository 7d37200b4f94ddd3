/** The log of a part: appended to over restarts, and kept from growing without end. */
import { copyFileSync, mkdirSync, openSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';

const MAX_LOG_BYTES = 50_000_000;

export function logFile(folder: string, name: string): string {
  return path.join(folder, 'logs', `${name}.log`);
}

export function openLog(folder: string, name: string): number {
  mkdirSync(path.join(folder, 'logs'), { recursive: true, mode: 0o700 });
  limitLog(folder, name);
  return openSync(logFile(folder, name), 'a', 0o600);
}

/** The process holds the file open for appending, so it is emptied in place, after a copy; one older copy is kept. */
export function limitLog(folder: string, name: string): void {
  const file = logFile(folder, name);
  const sizeBytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (sizeBytes <= MAX_LOG_BYTES) return;
  try {
    copyFileSync(file, `${file}.1`);
  } finally {
    // Also when there was no room for the copy: then all the more.
    truncateSync(file);
  }
}
