/** Real api and worker processes for tests: `node dist/…`, as a person runs them. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../dev/stack/freePorts.ts';
import { writeRecord } from '../../dev/stack/runRecords.ts';
import { processEnvironment } from '../../infra/config/environment.ts';

export interface Spawned {
  pid: number;
  kill(signal?: NodeJS.Signals): void;
  /** Everything it has written so far. */
  logs(): string;
  exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** SIGTERM, then SIGKILL after `timeoutMs` (40 s); resolves when it is gone. */
  stop(timeoutMs?: number): Promise<void>;
}

export interface SpawnOptions {
  /** `dist/api/main.js`, relative to the repository, or an absolute path. */
  script: string;
  name: string;
  environment: Record<string, string>;
  args?: string[];
  /** Of node itself. */
  flags?: readonly string[];
  /** Where it is recorded, so that the end of the run kills it in any case. */
  runFolder: string;
}

/** The repository, also for the built copy of this file. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/dist\/$/, '/');
const MAX_LOG_LENGTH = 4_000_000;
let serial = 0;

export function spawnNode(options: SpawnOptions): Spawned {
  build();
  mkdirSync(options.runFolder, { recursive: true });
  const { PATH, HOME } = processEnvironment();
  const child = spawn(
    process.execPath,
    [...(options.flags ?? []), path.resolve(ROOT, options.script), ...(options.args ?? [])],
    {
      env: { ...(PATH && { PATH }), ...(HOME && { HOME }), ...options.environment },
      cwd: options.runFolder,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const pid = child.pid ?? -1;
  serial += 1;
  const name = `${options.name}-${process.pid}-${serial}`;
  writeRecord(options.runFolder, { name, stopSignal: 'SIGKILL', stopTimeoutMs: 5_000 }, pid);
  const exit: Spawned['exit'] = new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  void exit.then(() => process.off('exit', killWithUs));
  return {
    pid,
    kill: (signal) => child.kill(signal ?? 'SIGTERM'),
    logs: collect(child),
    exit,
    stop: stopper(child, exit),
  };
}

function collect(child: ChildProcess): () => string {
  let text = '';
  const add = (bytes: Buffer) => {
    text = (text + bytes.toString()).slice(-MAX_LOG_LENGTH);
  };
  child.stdout?.on('data', add);
  child.stderr?.on('data', add);
  return () => text;
}

function stopper(child: ChildProcess, exit: Spawned['exit']): Spawned['stop'] {
  return async (timeoutMs = 40_000) => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    await exit;
    clearTimeout(timer);
  };
}

let built = false;

/** Once per test file at most, and a matter of milliseconds when nothing changed. */
function build(): void {
  if (built) return;
  execFileSync(process.execPath, [path.join(ROOT, 'dev/launch/build.mjs')], { stdio: 'pipe' });
  built = true;
}

/** Waits until `check` no longer throws; at its end or after `timeoutMs` kills it and throws, with the process's log. */
export async function untilReady(spawned: Spawned, check: () => Promise<void>, timeoutMs: number): Promise<void> {
  const ended = { value: false };
  void spawned.exit.then(() => {
    ended.value = true;
  });
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (!ended.value && Date.now() < deadline) {
        await sleep(30);
        continue;
      }
      // Nobody would know of it any more, and it would take part in what comes next.
      spawned.kill('SIGKILL');
      throw new Error(`not ready (${String(error)}):\n${spawned.logs().slice(-3_000)}`);
    }
  }
}

export async function apiPort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}
