/** Starts our own processes, one API and one worker, and waits until both work. */

import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { TaskQueue } from '../../domain/queues.ts';
import type { Config } from '../../infra/config/config.ts';
import { readEnvironment } from '../../infra/config/environment.ts';
import { callOwn } from '../../infra/http/operatorFetch.ts';
import { openTemporal } from '../../infra/temporal/connect.ts';
import { pollersOf } from '../../infra/temporal/pollers.ts';
import type { PartProcess } from './part.ts';
import { type SuperviseOptions, supervise } from './supervise.ts';

interface ServiceOptions {
  environment: NodeJS.ProcessEnv;
  /** Base of relative paths in the configuration file. */
  cwd: string;
}

/**
 * Node flags of an API process. The space for new objects would grow to 16 MB, all of which is used in time. With half
 * of it the process is as fast, and each collection takes half as long. Bench `memory`.
 */
export const API_FLAGS: readonly string[] = ['--max-semi-space-size=8'];

/**
 * Node flags of a worker process. The space for new objects would grow to 32 MB in each of its two threads and stay
 * there. A quarter of that gives the same throughput. Bench `waiting`.
 */
export const WORKER_FLAGS: readonly string[] = ['--max-semi-space-size=4'];

/** Longer than a worker needs to finish its steps. */
const WORKER_STOP_MS = 40_000;
/** Time of an API process beyond its drain time, to settle interrupted calls and close. */
const API_SETTLE_MS = 15_000;

function apiProcess(options: ServiceOptions, origin: string): PartProcess {
  const process = service('api', '../../api/main.js', options);
  const { FAREBOX_DRAIN_SECONDS } = readEnvironment(options.environment);
  return {
    ...process,
    stopTimeoutMs: FAREBOX_DRAIN_SECONDS * 1_000 + API_SETTLE_MS,
    args: [...API_FLAGS, ...process.args],
    check: () => mustAnswer(`${origin}/healthz`),
  };
}

function workerProcess(options: ServiceOptions): PartProcess {
  // The worker waits for its dependencies itself. `startServices` checks once that it polls.
  const process = service('worker', '../../workers/main.js', options);
  return { ...process, args: [...WORKER_FLAGS, ...process.args], check: async () => undefined };
}

function service(name: string, script: string, { environment, cwd }: ServiceOptions) {
  return {
    name,
    command: process.execPath,
    args: [fileURLToPath(new URL(script, import.meta.url))],
    env: environment,
    cwd,
    readyTimeoutMs: 60_000,
    stopSignal: 'SIGTERM' as const,
    stopTimeoutMs: WORKER_STOP_MS,
  };
}

/** Throws with the beginning of the response unless the status is 200. */
async function mustAnswer(url: string): Promise<void> {
  const answer = await callOwn(url, { timeoutMs: 5_000 });
  const words = await answer.text();
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}: ${words.slice(0, 300)}`);
}

/** Repeats `check` until it succeeds. After `timeoutMs` throws its last error with `what`. */
async function untilTrue(what: string, check: () => Promise<void>, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) {
        throw new Error(`${what} after ${Math.round(timeoutMs / 1_000)} s: ${(error as Error).message}`);
      }
    }
    await sleep(50);
  }
}

interface PollCheck {
  temporal: Config['temporal'];
  queue: TaskQueue;
  pid: number;
}

/** A worker has no port, so it is ready when the server has seen its poll. Throws until then. */
async function mustPoll({ temporal: at, queue, pid }: PollCheck): Promise<void> {
  const temporal = openTemporal(at);
  try {
    const pollers = await pollersOf(temporal, queue, 'workflows');
    const found = pollers.some(({ identity }) => identity?.startsWith(`${pid}@`));
    if (!found) throw new Error(`no worker of process ${pid} asks for work on "${queue}"`);
  } finally {
    await temporal.close();
  }
}

interface ServicesOptions {
  environment: NodeJS.ProcessEnv;
  config: Config;
  /** Origin of the API, such as http://127.0.0.1:8080. */
  origin: string;
  supervision: SuperviseOptions;
}

const READY_TIMEOUT_MS = 60_000;

/** Throws after a minute, with the reason why a process is not ready. */
export async function startServices(options: ServicesOptions): Promise<void> {
  const { config, origin, supervision } = options;
  const how = { environment: options.environment, cwd: process.cwd() };
  const [, worker] = await Promise.all([
    supervise(apiProcess(how, origin), supervision),
    supervise(workerProcess(how), supervision),
  ]);
  const polls = () => mustPoll({ temporal: config.temporal, queue: 'jobs', pid: worker.pid() ?? 0 });
  await Promise.all([
    untilTrue('the API is not ready', () => mustAnswer(`${origin}/readyz`), READY_TIMEOUT_MS),
    untilTrue('the worker is not ready', polls, READY_TIMEOUT_MS),
  ]);
}
