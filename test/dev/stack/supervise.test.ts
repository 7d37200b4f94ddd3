import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { identify, isAlive } from '../../../dev/launch/processIdentity.mjs';
import type { PartProcess } from '../../../dev/stack/part.ts';
import { stopOrphans } from '../../../dev/stack/runRecords.ts';
import { supervise } from '../../../dev/stack/supervise.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'farebox run '));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function part(script: string, more: Partial<PartProcess> = {}): PartProcess {
  return {
    name: 'part',
    command: '/bin/sh',
    args: ['-c', script],
    env: { PATH: '/usr/bin:/bin' },
    cwd: folder,
    check: async () => {
      if (!existsSync(path.join(folder, 'ready'))) throw new Error('not yet');
    },
    readyTimeoutMs: 60_000,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 500,
    ...more,
  };
}

const SERVES = 'touch ready; exec sleep 60';

async function until(holds: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 60_000; !holds(); ) {
    if (Date.now() > deadline) throw new Error('it did not become so in 60 s');
    await sleep(20);
  }
}

test('restarts a crashed part after a growing pause', async () => {
  const pauses: number[] = [];
  const pids: number[] = [];
  const supervised = await supervise(part(SERVES), {
    folder,
    onCrash: ({ restartInMs }) => pauses.push(restartInMs),
    onRestart: ({ pid }) => pids.push(pid),
  });
  for (let crash = 1; crash <= 2; crash += 1) {
    process.kill(supervised.pid() ?? 0, 'SIGKILL');
    await until(() => pids.length === crash);
  }
  expect(pauses).toEqual([250, 500]);
  expect(supervised.pid()).toBe(pids[1]);
  await supervised.stop();
  expect(isRunning(pids[1] ?? 0)).toBe(false);
});

test('reports a part that ends at its start with the end of its log', async () => {
  const failing = supervise(part('echo the disk is full >&2; exit 3'), { folder });
  await expect(failing).rejects.toThrow(/part ended at its start:[\s\S]*the disk is full/);
});

test('gives up on a part that never answers, and stops it', async () => {
  const pids: number[] = [];
  const hanging = supervise(part('exec sleep 60', { readyTimeoutMs: 300 }), {
    folder,
    register: ({ pid }) => pids.push(pid() ?? 0),
  });
  await expect(hanging).rejects.toThrow('part is not ready');
  expect(isRunning(pids[0] ?? 0)).toBe(false);
});

test('kills and restarts a part that runs but no longer answers', async () => {
  const pids: number[] = [];
  const silent: string[] = [];
  const supervised = await supervise(part(SERVES), {
    folder,
    onRestart: ({ pid }) => pids.push(pid),
    onSilence: ({ name }) => silent.push(name),
    liveness: { everyMs: 50, limitMs: 2_000 },
  });
  const stuck = supervised.pid() ?? 0;
  rmSync(path.join(folder, 'ready'));
  await until(() => pids.length === 1);
  expect(silent).toEqual(['part']);
  expect(isRunning(stuck)).toBe(false);
  await sleep(500);
  expect(supervised.pid()).toBe(pids[0]);
  await supervised.stop();
});

test('keeps a part that answers with a refusal', async () => {
  const supervised = await supervise(part(SERVES, { isAnswer: (error) => String(error).includes('not yet') }), {
    folder,
    liveness: { everyMs: 50, limitMs: 100 },
  });
  const pid = supervised.pid();
  rmSync(path.join(folder, 'ready'));
  await sleep(500);
  expect(supervised.pid()).toBe(pid);
  expect(isRunning(pid ?? 0)).toBe(true);
  await supervised.stop();
});

test('kills a part that ignores the stop signal, after its deadline', async () => {
  const supervised = await supervise(part('trap "" TERM; touch ready; while :; do sleep 0.05; done'), {
    folder,
  });
  const pid = supervised.pid() ?? 0;
  await supervised.stop();
  expect(isRunning(pid)).toBe(false);
});

test('finds and stops what a killed supervisor left running', async () => {
  const supervised = await supervise(part(SERVES), { folder });
  const pid = supervised.pid() ?? 0;
  // Another supervisor, which knows the process by its record only.
  const stopping = stopOrphans(folder);
  expect(await stopping).toEqual(['part']);
  expect(isRunning(pid)).toBe(false);
  await supervised.stop();
});

test('spares a process that only has the id of an orphan', async () => {
  const stranger = spawn('sleep', ['60']);
  const pid = stranger.pid ?? 0;
  mkdirSync(path.join(folder, 'run'));
  const record = { name: 'part', pid, started: 'another boot:1', stopSignal: 'SIGKILL', stopTimeoutMs: 100 };
  writeFileSync(path.join(folder, 'run', 'part.json'), JSON.stringify(record));
  expect(await stopOrphans(folder)).toEqual([]);
  expect(isRunning(pid)).toBe(true);
  stranger.kill('SIGKILL');
});

test('records the process of a part that runs now', async () => {
  const supervised = await supervise(part(SERVES), { folder });
  const record = JSON.parse(readFileSync(path.join(folder, 'run', 'part.json'), 'utf8'));
  expect(record.pid).toBe(supervised.pid());
  expect(isAlive(record)).toBe(true);
  await supervised.stop();
  expect(existsSync(path.join(folder, 'run', 'part.json'))).toBe(false);
});

function isRunning(pid: number): boolean {
  return identify(pid) !== undefined;
}
