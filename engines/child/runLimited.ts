/**
 * Runs a media program with limits on time, memory, processor and output, without our environment and without network.
 * Any stop kills it at once, because it holds nothing that needs a cleanup.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface LimitedRun {
  /** Name in error messages. */
  title: string;
  program: string;
  arguments: readonly string[];
  timeoutMs: number;
  /** Size limit of each file that it writes. */
  maxFileBytes: number;
  /** Number of threads that may compute at the same time. Default: 1. */
  threads?: number;
  signal?: AbortSignal | undefined;
  /** Called with each line of standard error. */
  onLog?: ((line: string) => void) | undefined;
  /** Called with each piece of standard output. Returning false stops the run. */
  onOutput?: ((piece: Buffer) => boolean) | undefined;
}

export type RunEnd = 'finished' | 'failed' | 'stopped' | 'timed_out' | 'aborted';

const MAX_MEMORY_KB = 1024 * 1024;
const MAX_LOG_LINE = 2_000;
/** `ulimit` exists in every shell. Where one limit is not supported, the others still apply. */
const LIMITED = 'ulimit -c 0; ulimit -s 1024; ulimit -v "$1"; ulimit -t "$2"; ulimit -f "$3"; shift 3; exec "$@"';
/** Reserved address space counts as memory, so threads get small stacks (above) and share one heap. */
const ONE_HEAP = { MALLOC_ARENA_MAX: '1' };

/** Rejects when the program could not run at all, which says nothing about its input. */
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

/** The program is missing or another process killed it, so the input is not at fault. */
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
