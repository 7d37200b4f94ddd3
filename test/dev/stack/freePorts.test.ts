import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { identify } from '../../../dev/launch/processIdentity.mjs';
import { freePorts } from '../../../dev/stack/freePorts.ts';

const FIRST = 20_000;
const LAST = 32_767;

const folder = mkdtempSync(path.join(os.tmpdir(), 'farebox-ports-'));

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Reserves all ports for a process with this identity. */
function reserveAll(owner: object | undefined): void {
  vi.stubEnv('XDG_CACHE_HOME', folder);
  const ports = path.join(folder, 'farebox', 'ports');
  mkdirSync(ports, { recursive: true });
  for (let port = FIRST; port <= LAST; port += 1) {
    writeFileSync(path.join(ports, String(port)), JSON.stringify(owner));
  }
}

test('returns no port twice in one process', async () => {
  vi.stubEnv('XDG_CACHE_HOME', folder);
  const returned: number[] = [];
  for (let call = 0; call < 500; call += 1) returned.push(...(await freePorts(2)));
  expect(new Set(returned).size).toBe(1_000);
});

test('skips a port of another live process', async () => {
  reserveAll(identify(process.ppid));
  await expect(freePorts(1)).rejects.toThrow('no 1 free ports from 20000 to 32767');
});

test('returns a port of an ended process', async () => {
  reserveAll({ pid: process.ppid, started: 'before' });
  expect(await freePorts(3)).toHaveLength(3);
});
