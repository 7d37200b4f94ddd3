/**
 * A few child processes that parse strangers' bytes: a parser that loops or swells is killed with its child, and the event
 * loop of this process never waits for one (reliability finding 1, J3). Children are kept for the next file.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Inspection } from './inspectFile.ts';

export interface InspectorOptions {
  /** The compiled child; the shipped one by default. */
  childPath?: string;
  maxChildren?: number;
  timeoutMs?: number;
}

export interface Inspector {
  /** Undefined: the file could not be parsed within the limits. Throws when no child starts, which is no file's fault. */
  inspect(path: string): Promise<Inspection | undefined>;
  close(): void;
}

/** `file` is the question's number: a late answer to an earlier one is nobody's. */
interface Answer {
  file: number;
  inspection?: Inspection;
}

const HEAP_MB = 256;
/** A child is replaced after this many files, so that nothing can pile up in it. */
const FILES_PER_CHILD = 1_000;
const MAX_WAITING = 1_000;
/** Should this process die while a parser loops, the child ends by its own processor time. */
const LIMITED = 'ulimit -c 0; ulimit -t 300; exec "$@"';
/** Apart from the time that a file gets: a machine that is too busy to start a child must not make a good file bad. */
const START_LIMIT_MS = 30_000;

interface Child {
  process: ChildProcess;
  files: number;
  started: Promise<void>;
}

export function createInspector(options: InspectorOptions = {}): Inspector {
  const { childPath = shippedChild(), maxChildren = 2, timeoutMs = 5_000 } = options;
  const idle: Child[] = [];
  const waiting: ((child: Child) => void)[] = [];
  let running = 0;

  async function take(): Promise<Child> {
    for (let kept = idle.pop(); kept !== undefined; kept = idle.pop()) {
      if (kept.process.connected) return kept;
      running -= 1;
    }
    if (running < maxChildren) {
      running += 1;
      return start(childPath);
    }
    if (waiting.length >= MAX_WAITING) throw new Error('too many files wait for inspection');
    return new Promise((resolve) => waiting.push(resolve));
  }

  function giveBack(child: Child, usable: boolean): void {
    const keep = usable && child.files < FILES_PER_CHILD && child.process.connected;
    if (!keep) child.process.kill('SIGKILL');
    const next = waiting.shift();
    if (next) next(keep ? child : start(childPath));
    else if (keep) idle.push(child);
    else running -= 1;
  }

  return {
    async inspect(path) {
      const child = await take();
      child.files += 1;
      hold(child);
      let answer: Answer | undefined;
      try {
        await child.started;
        answer = await ask(child, { path, file: child.files, timeoutMs });
      } finally {
        letGo(child);
        giveBack(child, answer !== undefined);
      }
      return answer?.inspection;
    },
    close() {
      for (const child of idle.splice(0)) child.process.kill('SIGKILL');
    },
  };
}

/** Sources that run uncompiled (tests) use the compiled child of the last build. */
function shippedChild(): string {
  const here = fileURLToPath(import.meta.url);
  if (!here.endsWith('.ts')) return fileURLToPath(new URL('./inspectChild.js', import.meta.url));
  return fileURLToPath(new URL('../../dist/infra/media/inspectChild.js', import.meta.url));
}

function start(childPath: string): Child {
  const command = [process.execPath, `--max-old-space-size=${HEAP_MB}`, childPath];
  const child = spawn('/bin/sh', ['-c', LIMITED, 'sh', ...command], {
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  child.on('error', () => child.kill('SIGKILL'));
  return { process: child, files: 0, started: firstWord(child) };
}

/** A child says a word when it can take files. */
function firstWord(child: ChildProcess): Promise<void> {
  const started = new Promise<void>((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`the inspection child ${why}`));
    const expiry = setTimeout(fail, START_LIMIT_MS, 'did not start in time').unref();
    child.once('exit', () => fail('ended at its start'));
    child.once('message', () => {
      clearTimeout(expiry);
      resolve();
    });
  });
  // Whoever has a file for it hears of it.
  started.catch(() => undefined);
  return started;
}

/** Undefined: no answer in time, or no child any more. */
function ask(
  child: Child,
  question: { path: string; file: number; timeoutMs: number },
): Promise<Answer | undefined> {
  const { path, file, timeoutMs } = question;
  return new Promise((resolve) => {
    const finish = (answer: Answer | undefined) => {
      clearTimeout(expiry);
      child.process.off('message', answered);
      child.process.off('exit', died);
      resolve(answer);
    };
    const answered = (message: unknown) => {
      const answer = message as Answer;
      if (answer.file === file) finish(answer);
    };
    const died = () => finish(undefined);
    const expiry = setTimeout(died, timeoutMs);
    child.process.on('message', answered);
    child.process.on('exit', died);
    child.process.send({ path, file }, (error) => {
      if (error) died();
    });
  });
}

/** An idle child must not keep a process alive that has nothing else to do. */
function letGo(child: Child): void {
  child.process.unref();
  child.process.channel?.unref();
}

function hold(child: Child): void {
  child.process.ref();
  child.process.channel?.ref();
}
