/**
 * Loaded into an API process with `--import`. On SIGUSR2 it writes the longest event loop turn and the memory since the
 * last signal to the file STALL_FILE.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { measureStall } from './stall.ts';

const SAMPLE_EVERY_MS = 20;
const { STALL_FILE } = process.env;

if (STALL_FILE && process.argv[1]?.endsWith('api/main.js')) {
  const stall = measureStall();
  let reports = 0;
  let mostBytes = 0;
  setInterval(() => {
    mostBytes = Math.max(mostBytes, process.memoryUsage.rss());
  }, SAMPLE_EVERY_MS).unref();
  process.on('SIGUSR2', () => {
    reports += 1;
    const report = { reports, longestMs: stall.longestMs(), mostBytes, nowBytes: process.memoryUsage.rss() };
    writeFileSync(`${STALL_FILE}.part`, JSON.stringify(report));
    renameSync(`${STALL_FILE}.part`, STALL_FILE);
    stall.reset();
    mostBytes = 0;
  });
}
