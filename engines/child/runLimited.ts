/**
 * One run of a media program under limits of time, memory, processor and output, without our environment and without the
 * network. Whoever stops it, it is killed at once: it never holds anything that would have to be put away.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface LimitedRun {
  /** How messages about it call it. */
  title: string;
  program: string;
  arguments: readonly string[];
  timeoutMs: number;
  /** Largest file that it may write. */
  maxFileBytes: number;
  /** How many of its threads may compute at the same time; 1 when left out. */
  threads?: number;
  signal?: AbortSignal | undefined;
  /** A line of its standard error. */
  onLog?: ((line: string) => void) | undefined;
  /** A piece of its standard output; the answer false stops the run. */
  onOutput?: ((piece: Buffer) => boolean) | undefined;
}

export type RunEnd = 'finished' | 'failed' | 'stopped' | 'timed_out' | 'aborted';

const MAX_MEMORY_KB = 1024 * 1024;
const MAX_LOG_LINE = 2_000;
/** `ulimit` because it is in every shell; where a limit is not known, the other ones still hold. */
const LIMITED = 'ulimit -c 0; ulimit -s 1024; ulimit -v "$1"; ulimit -t "$2"; ulimit -f "$3"; shift 3; exec "$@"';
/** Address space that every thread would reserve and hardly use counts as memory: stacks (see above), and heaps of its own. */
const ONE_HEAP = { MALLOC_ARENA_MAX: '1' };

/** Throws when the program could not be run at all, which says nothing about what it was given. */
export function runLimited(run: LimitedRun): Promise<RunEnd> {
  return new Promise((resolve, reject) => {
    if (run.signal?.aborted) return resolve('aborted');
    const child = spawnLimited(run);
    let verdict: RunEnd | undefined;
    const stop = (reason: RunEnd) => {
      verdict ??= reason;
      child.kill('SIGKILL');
    };
    const expiry = setTimeout(stop, run.timeoutMs, 'timed_out');
    const aborted = () => stop('aborted');
    run.signal?.addEventListener('abort', aborted, { once: true });
    readLog(child, run.onLog);
    child.stdout?.on('data', (piece: Buffer) => {
      if (verdict === undefined && run.onOutput?.(piece) === false) stop('stopped');
    });
    child.on('error', reject);
    child.on('close', (status, signal) => {
      clearTimeout(expiry);
      run.signal?.removeEventListener('abort', aborted);
      if (verdict === undefined && isNotItsFault(status, signal)) reject(new Error(`${run.title} could not be run`));
      else resolve(verdict ?? (status === 0 ? 'finished' : 'failed'));
    });
  });
}

/** It is not there, or somebody else killed it: that says nothing about what it was given to read. */
function isNotItsFault(status: number | null, signal: NodeJS.Signals | null): boolean {
  return status === 126 || status === 127 || signal === 'SIGKILL' || signal === 'SIGTERM';
}

function spawnLimited(run: LimitedRun): ChildProcess {
  const seconds = (Math.ceil(run.timeoutMs / 1_000) + 1) * (run.threads ?? 1);
  const blocks = Math.ceil(run.maxFileBytes / 512);
  const limits = [String(MAX_MEMORY_KB), String(seconds), String(blocks)];
  return spawn('/bin/sh', ['-c', LIMITED, 'sh', ...limits, run.program, ...run.arguments], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', AV_LOG_FORCE_NOCOLOR: '1', ...ONE_HEAP },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function readLog(child: ChildProcess, onLog: ((line: string) => void) | undefined): void {
  if (child.stderr === null) return;
  if (onLog === undefined) {
    child.stderr.resume();
    return;
  }
  createInterface({ input: child.stderr }).on('line', (line) => onLog(line.slice(0, MAX_LOG_LINE)));
}
