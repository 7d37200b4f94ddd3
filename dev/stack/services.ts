/** Our own processes in the stack: one API, one worker. */
import { fileURLToPath } from 'node:url';
import { readEnvironment } from '../../infra/config/environment.ts';
import { callOwn } from '../../infra/http/operatorFetch.ts';
import type { PartProcess } from './part.ts';

export interface ServiceOptions {
  environment: NodeJS.ProcessEnv;
  /** Relative paths in the configuration file start here. */
  cwd: string;
}

/**
 * Of an API process. Of the 16 MB that the space for new objects may grow to, all are used sooner or later; with half of
 * them it is as quick, and collects for half as long at a time. Bench `memory`.
 */
export const API_FLAGS: readonly string[] = ['--max-semi-space-size=8'];

/**
 * Of a worker process. The space for new objects grows to 32 MB in each of its two threads and stays there; with a quarter
 * of that it does as much. Bench `waiting`.
 */
export const WORKER_FLAGS: readonly string[] = ['--max-semi-space-size=4'];

/** Longer than a worker takes to let its steps finish. */
const WORKER_STOP_MS = 40_000;
/** What an API process needs beyond its drain time: to settle what was cut, and to close. */
const API_SETTLE_MS = 15_000;

export function apiProcess(options: ServiceOptions, origin: string): PartProcess {
  const process = service('api', '../../api/main.js', options);
  const { FAREBOX_DRAIN_SECONDS } = readEnvironment(options.environment);
  return {
    ...process,
    stopTimeoutMs: FAREBOX_DRAIN_SECONDS * 1_000 + API_SETTLE_MS,
    args: [...API_FLAGS, ...process.args],
    check: () => mustAnswer(`${origin}/healthz`),
  };
}

export function workerProcess(options: ServiceOptions): PartProcess {
  // It waits by itself for what it needs; that it polls is checked once, by whoever waits for the whole.
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

/** Throws, with the first words of the answer, when it is not 200. */
export async function mustAnswer(url: string): Promise<void> {
  const answer = await callOwn(url, { timeoutMs: 5_000 });
  const words = await answer.text();
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}: ${words.slice(0, 300)}`);
}
