/**
 * Pool of child processes that parse untrusted files (PARSE-1). A parser that loops or grows is killed with its child,
 * and never blocks the event loop of this process. Children are kept for the next file (bench `media`).
 */
import { TooManyWait } from '../../infra/tooBusy.ts';
import { type ChildPlan, hold, type KeptChild, startChild, unrefChild } from './keptChild.ts';

export interface ChildPoolOptions extends ChildPlan {
  maxChildren: number;
  timeoutMs: number;
  /** A child is replaced after this many files, so that leaks cannot accumulate. */
  filesPerChild: number;
  maxWaiting: number;
  /** After this wait for a child, `ask` rejects with TooManyWait. Without it, the wait has no limit. */
  maxWaitMs?: number;
}

/** Answer about one file. `file` repeats the number of the question, so that late answers are ignored. */
export interface ChildAnswer {
  file: number;
  /** The child has grown and must be replaced. */
  worn?: boolean;
}

export interface ChildPool<Question, Answer> {
  /**
   * Resolves with undefined when no answer comes within the limits. Rejects with TooManyWait, on abort, and when no
   * child starts, which is not the file's fault.
   */
  ask(question: Question, signal?: AbortSignal): Promise<Answer | undefined>;
  close(): void;
}

interface Child extends KeptChild {
  files: number;
}

export function createChildPool<Question extends object, Answer extends ChildAnswer>(
  options: ChildPoolOptions,
): ChildPool<Question, Answer> {
  const { maxChildren, timeoutMs, filesPerChild, maxWaiting, maxWaitMs, name } = options;
  const idle: Child[] = [];
  const waiting: ((child: Child) => void)[] = [];
  let running = 0;
  let closed = false;

  async function take(signal: AbortSignal | undefined): Promise<Child> {
    for (let kept = idle.pop(); kept !== undefined; kept = idle.pop()) {
      if (kept.process.connected) return kept;
      running -= 1;
    }
    if (running < maxChildren) {
      running += 1;
      return start(options);
    }
    if (waiting.length >= maxWaiting) throw new TooManyWait(`too many files wait for ${name}`);
    return inTurn(waiting, { signal, maxWaitMs, name });
  }

  function giveBack(child: Child, { usable, worn }: { usable: boolean; worn: boolean }): void {
    const isUsedUp = worn || child.files >= filesPerChild;
    const keep = usable && !isUsedUp && child.process.connected;
    if (!keep) child.process.kill('SIGKILL');
    const next = waiting.shift();
    if (next) next(keep ? child : start(options));
    else if (keep) idle.push(child);
    // Starts a replacement ahead for the next file. A killed child is replaced only on demand.
    else if (usable && !closed) idle.push(startIdle(options));
    else running -= 1;
  }

  return {
    async ask(question, signal) {
      signal?.throwIfAborted();
      const child = await take(signal);
      child.files += 1;
      hold(child);
      let answer: Answer | undefined;
      try {
        await child.started;
        answer = await answerOf<Answer>(child, { ...question, file: child.files }, { timeoutMs, signal });
      } finally {
        unrefChild(child);
        giveBack(child, { usable: answer !== undefined, worn: answer?.worn === true });
      }
      signal?.throwIfAborted();
      return answer;
    },
    close() {
      closed = true;
      for (const child of idle.splice(0)) child.process.kill('SIGKILL');
    },
  };
}

function start(plan: ChildPlan): Child {
  return { ...startChild(plan), files: 0 };
}

interface TurnOptions {
  signal: AbortSignal | undefined;
  maxWaitMs: number | undefined;
  name: string;
}

function startIdle(plan: ChildPlan): Child {
  const child = start(plan);
  unrefChild(child);
  return child;
}

/** A caller that gives up leaves the queue at once, so that no child is handed to it. */
function inTurn(waiting: ((child: Child) => void)[], { signal, maxWaitMs, name }: TurnOptions): Promise<Child> {
  return new Promise((resolve, reject) => {
    const over = () => {
      clearTimeout(expiry);
      signal?.removeEventListener('abort', aborted);
    };
    const turn = (child: Child) => {
      over();
      resolve(child);
    };
    const leave = (reason: unknown) => {
      over();
      waiting.splice(waiting.indexOf(turn), 1);
      reject(reason);
    };
    const aborted = () => leave(signal?.reason);
    const late = () => leave(new TooManyWait(`a file waited ${maxWaitMs} ms for ${name}`));
    const expiry = maxWaitMs === undefined ? undefined : setTimeout(late, maxWaitMs);
    signal?.addEventListener('abort', aborted, { once: true });
    waiting.push(turn);
  });
}

/** Undefined after a timeout, an exit of the child, or an abort. */
function answerOf<Answer extends ChildAnswer>(
  child: Child,
  question: { file: number },
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal | undefined },
): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const finish = (answer: Answer | undefined) => {
      clearTimeout(expiry);
      signal?.removeEventListener('abort', none);
      child.process.off('message', answered);
      child.process.off('exit', none);
      resolve(answer);
    };
    const answered = (message: unknown) => {
      const answer = message as Answer;
      if (answer.file === question.file) finish(answer);
    };
    const none = () => finish(undefined);
    const expiry = setTimeout(none, timeoutMs);
    signal?.addEventListener('abort', none, { once: true });
    child.process.on('message', answered);
    child.process.on('exit', none);
    if (signal?.aborted) return none();
    child.process.send(question, (error) => {
      if (error) none();
    });
  });
}
