/**
 * Child processes of our own program that are kept for the next piece of work (bench `media`) and never keep this process
 * alive idle.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isolatedCommand } from './isolation.ts';

export interface ChildPlan {
  /** The compiled entry point. */
  path: string;
  heapMb: number;
  /** Of all that the process may write to, buffers too; not limited when left out. The kernel refuses more (on Linux). */
  memoryMb?: number;
  /** Of processor time: should this process die while the child loops, the child ends by that. */
  cpuSeconds: number;
  /** How messages about it call it. */
  name: string;
}

export interface KeptChild {
  process: ChildProcess;
  /** Rejects when it ends before it said its first word, or says none in time. */
  started: Promise<void>;
}

/** Apart from the time that work gets: a machine that is too busy to start a child must not make a good file bad. */
const START_LIMIT_MS = 30_000;
/**
 * `nice`: about a tenth of this process's weight, so that where both want the same core a call that only asks for a route
 * comes first.
 */
const LIMITED = 'ulimit -c 0; ulimit -t "$1"; [ -z "$2" ] || ulimit -d "$2"; shift 2; exec nice -n 10 "$@"';

export function startChild({ path, heapMb, memoryMb, cpuSeconds, name }: ChildPlan): KeptChild {
  const limits = [String(cpuSeconds), memoryMb === undefined ? '' : String(memoryMb * 1024)];
  const node = [process.execPath, `--max-old-space-size=${heapMb}`, path];
  const [program = '', ...args] = isolatedCommand(['/bin/sh', '-c', LIMITED, 'sh', ...limits, ...node]);
  const child = spawn(program, args, {
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // Bytes and long texts cross as they are: written and read as JSON they would hold up the event loop.
    serialization: 'advanced',
  });
  child.on('error', () => child.kill('SIGKILL'));
  return { process: child, started: firstWord(child, name) };
}

/** A child says a word when it can take work. */
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
  // Whoever has work for it hears of it.
  started.catch(() => undefined);
  return started;
}

/** While it works. */
export function hold({ process: child }: KeptChild): void {
  child.ref();
  child.channel?.ref();
}

/** When it is idle: then it must not keep a process alive that has nothing else to do. */
export function unrefChild({ process: child }: KeptChild): void {
  child.unref();
  child.channel?.unref();
}

/** The compiled file of a module, such as `engines/media/ffmpegChild`; sources that run uncompiled (tests) use the last build. */
export function shippedChild(name: string): string {
  const isSource = fileURLToPath(import.meta.url).endsWith('.ts');
  return fileURLToPath(new URL(`${isSource ? '../../dist' : '../..'}/${name}.js`, import.meta.url));
}
