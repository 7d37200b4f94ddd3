/**
 * A few child processes that parse strangers' bytes: a parser that loops or swells is killed with its child, and the event
 * loop of this process never waits for one (reliability finding 1, J3). Children are kept for the next file.
 */
import type { Inspection } from './inspectFile.ts';
import { hold, type KeptChild, letGo, shippedChild, startChild } from './keptChild.ts';

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
const CPU_SECONDS = 300;

interface Child extends KeptChild {
  files: number;
}

export function createInspector(options: InspectorOptions = {}): Inspector {
  const { childPath = shippedChild('inspectChild'), maxChildren = 2, timeoutMs = 5_000 } = options;
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

function start(path: string): Child {
  const kept = startChild({ path, heapMb: HEAP_MB, cpuSeconds: CPU_SECONDS, name: 'inspection' });
  return { ...kept, files: 0 };
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
