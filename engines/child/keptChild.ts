/** Child processes of our own program that are reused (bench `media`). Idle ones do not keep this process alive. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isolatedCommand } from './isolation.ts';

export interface ChildPlan {
  /** Compiled entry point. */
  path: string;
  heapMb: number;
  /** Limit of all writable memory, buffers included. Default: none. Enforced by the kernel (Linux only). */
  memoryMb?: number;
  /** Processor seconds. Ends a looping child even when this process has died. */
  cpuSeconds: number;
  /** Name in error messages. */
  name: string;
}

export interface KeptChild {
  process: ChildProcess;
  /** Rejects when the child ends before its first message, or sends none in time. */
  started: Promise<void>;
}

/** Separate from the time limit of work, so that a slow start on a busy machine does not fail a good file. */
const START_LIMIT_MS = 30_000;
/** `nice` gives a tenth of this process's weight, so that requests come first when both want the same core. */
const LIMITED = 'ulimit -c 0; ulimit -t "$1"; [ -z "$2" ] || ulimit -d "$2"; shift 2; exec nice -n 10 "$@"';

export function startChild({ path, heapMb, memoryMb, cpuSeconds, name }: ChildPlan): KeptChild {
  const limits = [String(cpuSeconds), memoryMb === undefined ? '' : String(memoryMb * 1024)];
  const node = [process.execPath, `--max-old-space-size=${heapMb}`, path];
  const [program = '', ...args] = isolatedCommand(['/bin/sh', '-c', LIMITED, 'sh', ...limits, ...node]);
  const child = spawn(program, args, {
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // Transfers bytes and long texts unchanged. JSON would block the event loop.
    serialization: 'advanced',
  });
  child.on('error', () => child.kill('SIGKILL'));
  return { process: child, started: firstWord(child, name) };
}

/** A child sends a first message when it can take work. */
function firstWord(child: ChildProcess, name: string): Promise<void> {
  const started = new Promise<void>((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`the ${name} child ${why}`));
    const expiry = setTimeout(fail, START_LIMIT_MS, 'did not start in time').unref();
    child.once('exit', () => fail('ended at its start'));
    child.once('message', () => {
      clearTimeout(expiry);
      resolve();
    });
  });
  // The caller with work awaits `started` and gets the error.
  started.catch(() => undefined);
  return started;
}

/** Keeps this process alive while the child works. */
export function hold({ process: child }: KeptChild): void {
  child.ref();
  child.channel?.ref();
}

/** Lets this process exit while the child is idle. */
export function unrefChild({ process: child }: KeptChild): void {
  child.unref();
  child.channel?.unref();
}

/** Compiled file of a module such as `engines/media/ffmpegChild`. Uncompiled sources (tests) use the last build. */
export function shippedChild(name: string): string {
  const isSource = fileURLToPath(import.meta.url).endsWith('.ts');
  return fileURLToPath(new URL(`${isSource ? '../../dist' : '../..'}/${name}.js`, import.meta.url));
}
