/** Keeps one process running: writes its log and record, restarts it with backoff, stops it with a deadline. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, copyFileSync, mkdirSync, openSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PartProcess } from './part.ts';
import { writeRecord } from './runRecords.ts';

export interface SupervisedProcess {
  name: string;
  pid(): number | undefined;
  /** Sends the stop signal, and kills the process after its deadline. */
  stop(): Promise<void>;
}

export interface SuperviseOptions {
  /** Parent of `logs/` and `run/`. */
  folder: string;
  /** Called at launch, before the process is ready, so that a stop of the stack includes it. */
  register?(supervised: SupervisedProcess): void;
  /** Called at each unplanned exit, before the pause and restart. */
  onCrash?(event: { name: string; how: string; restartInMs: number }): void;
  onRestart?(event: { name: string; pid: number }): void;
  /** Called when a part has not answered for too long, before it is killed and restarted. */
  onSilence?(event: { name: string; silentMs: number }): void;
  /** Interval of checks of a running part, and the maximum time without an answer. */
  liveness?: Liveness;
}

interface Liveness {
  everyMs: number;
  limitMs: number;
}

const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;
/** After this uptime the backoff starts from its first pause again. */
const STEADY_MS = 30_000;
const LOG_CHECK_MS = 30_000;
/** Limit of one check, so that a hanging check does not end the supervision. */
const CHECK_LIMIT_MS = 10_000;
/** Far longer than a busy machine is silent, so that only stuck parts are killed. */
const LIVENESS: Liveness = { everyMs: 10_000, limitMs: 90_000 };

/** Starts the process and resolves when it is ready. Rejects with the end of its log when it never is. */
export async function supervise(part: PartProcess, options: SuperviseOptions): Promise<SupervisedProcess> {
  const state: State = { part, options, stopping: false, pauseMs: FIRST_PAUSE_MS };
  const supervised = { name: part.name, pid: () => state.child?.pid, stop: () => stop(state) };
  launch(state);
  options.register?.(supervised);
  try {
    await becomesReady(state);
  } catch (error) {
    await stop(state);
    throw error;
  }
  state.logLimit = setInterval(() => keepLogSmall(state), LOG_CHECK_MS).unref();
  void watch(state, options.liveness ?? LIVENESS);
  state.child?.once('exit', () => void restartForever(state));
  if (hasEnded(state.child)) void restartForever(state);
  return supervised;
}

function keepLogSmall({ part, options }: State): void {
  try {
    limitLog(options.folder, part.name);
  } catch {
    // Repeated after `LOG_CHECK_MS`.
  }
}

/** Kills a part that runs but does not answer. The exit is then handled like any other. */
async function watch(state: State, { everyMs, limitMs }: Liveness): Promise<void> {
  let answeredAt = Date.now();
  while (!state.stopping) {
    await sleep(everyMs, undefined, { ref: false });
    // A starting process has its own deadline.
    if (state.restarting || state.stopping || hasEnded(state.child)) answeredAt = Date.now();
    else if (await answers(state)) answeredAt = Date.now();
    const silentMs = Date.now() - answeredAt;
    if (silentMs <= limitMs || state.stopping) continue;
    state.options.onSilence?.({ name: state.part.name, silentMs });
    state.child?.kill('SIGKILL');
    answeredAt = Date.now();
  }
}

async function answers(state: State): Promise<boolean> {
  try {
    await checkOnce(state);
    return true;
  } catch (error) {
    return state.part.isAnswer?.(error) ?? false;
  }
}

async function checkOnce({ part, child }: State): Promise<void> {
  const over = new AbortController();
  const late = sleep(CHECK_LIMIT_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error(`no answer in ${CHECK_LIMIT_MS / 1_000} s`);
  });
  late.catch(() => undefined);
  try {
    await Promise.race([part.check(child?.pid ?? 0), late]);
  } finally {
    over.abort();
  }
}

interface State {
  part: PartProcess;
  options: SuperviseOptions;
  child?: ChildProcess;
  stopping: boolean;
  logLimit?: NodeJS.Timeout;
  restarting?: boolean;
  pauseMs: number;
  startedAtMs?: number;
  stopped?: Promise<void>;
}

function launch(state: State): void {
  const { part, options } = state;
  const log = openLog(options.folder, part.name);
  try {
    state.child = spawn(part.command, part.args, {
      cwd: part.cwd,
      env: part.env,
      stdio: ['ignore', log, log],
      // Own process group, so that Ctrl-C reaches only the supervisor, which stops the parts in order.
      detached: true,
    });
  } finally {
    closeSync(log);
  }
  state.startedAtMs = Date.now();
  state.child.once('error', () => undefined);
  if (state.child.pid !== undefined) writeRecord(options.folder, part, state.child.pid);
}

async function becomesReady(state: State): Promise<void> {
  const { part } = state;
  const deadline = Date.now() + part.readyTimeoutMs;
  for (;;) {
    if (hasEnded(state.child)) throw new Error(`${part.name} ended at its start: ${endOfLog(state)}`);
    try {
      return await checkOnce(state);
    } catch (error) {
      if (Date.now() > deadline) {
        const seconds = Math.round(part.readyTimeoutMs / 1_000);
        throw new Error(`${part.name} is not ready after ${seconds} s (${String(error)}): ${endOfLog(state)}`);
      }
    }
    await sleep(25);
  }
}

function hasEnded(child: ChildProcess | undefined): boolean {
  return child === undefined || child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

function endOfLog(state: State): string {
  const file = logFile(state.options.folder, state.part.name);
  const lines = readFileSync(file, 'utf8').trim().split('\n').slice(-5).join('\n  ');
  return `${lines ? `\n  ${lines}\n` : ''}(log: ${file})`;
}

async function restartForever(state: State): Promise<void> {
  if (state.restarting) return;
  state.restarting = true;
  while (!state.stopping && hasEnded(state.child)) {
    if (Date.now() - (state.startedAtMs ?? 0) > STEADY_MS) state.pauseMs = FIRST_PAUSE_MS;
    const how = state.child?.signalCode ?? `exit code ${state.child?.exitCode ?? 'unknown'}`;
    state.options.onCrash?.({ name: state.part.name, how, restartInMs: state.pauseMs });
    await sleep(state.pauseMs);
    state.pauseMs = Math.min(state.pauseMs * 2, MAX_PAUSE_MS);
    if (state.stopping) break;
    await startAgain(state);
  }
  state.restarting = false;
  if (!state.stopping) state.child?.once('exit', () => void restartForever(state));
}

/** Never rejects, because a full disk must not end the supervision of other parts. */
async function startAgain(state: State): Promise<void> {
  try {
    launch(state);
    await becomesReady(state);
  } catch {
    // It ended again or hangs. The next round starts a new one.
    if (!state.stopping) await end(state.child, 'SIGKILL', 5_000);
    return;
  }
  try {
    state.options.onRestart?.({ name: state.part.name, pid: state.child?.pid ?? 0 });
  } catch {
    // The listener failed, but the part runs.
  }
}

function stop(state: State): Promise<void> {
  state.stopping = true;
  clearInterval(state.logLimit);
  state.stopped ??= end(state.child, state.part.stopSignal, state.part.stopTimeoutMs).then(() => {
    rmSync(path.join(state.options.folder, 'run', `${state.part.name}.json`), { force: true });
  });
  return state.stopped;
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals, timeoutMs: number): Promise<void> {
  if (child === undefined || hasEnded(child)) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  await ended;
  clearTimeout(timer);
}

const MAX_LOG_BYTES = 50_000_000;

function logFile(folder: string, name: string): string {
  return path.join(folder, 'logs', `${name}.log`);
}

/** Opens the log of a part for appending, with a size limit. */
function openLog(folder: string, name: string): number {
  mkdirSync(path.join(folder, 'logs'), { recursive: true, mode: 0o700 });
  limitLog(folder, name);
  return openSync(logFile(folder, name), 'a', 0o600);
}

/** Copies the log (one copy is kept) and truncates it in place, because the process keeps it open. */
function limitLog(folder: string, name: string): void {
  const file = logFile(folder, name);
  const sizeBytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (sizeBytes <= MAX_LOG_BYTES) return;
  try {
    copyFileSync(file, `${file}.1`);
  } finally {
    // Truncates even when the disk has no room for the copy.
    truncateSync(file);
  }
}
