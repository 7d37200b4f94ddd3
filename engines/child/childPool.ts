/**
 * Pool of child processes that parse files of strangers (PARSE-1): a parser that loops or grows is killed with its
 * child, and the event loop of this process never waits for one. Children are kept for the next file (bench `media`).
 */
import { TooManyWait } from '../../infra/tooBusy.ts';
import { type ChildPlan, hold, type KeptChild, startChild, unrefChild } from './keptChild.ts';

export interface ChildPoolOptions extends ChildPlan {
  maxChildren: number;
  timeoutMs: number;
  /** A child is replaced after this many files, so that nothing can pile up in it. */
  filesPerChild: number;
  maxWaiting: number;
  /** Who has waited so long for a child is told that too many wait; without it, whoever waits may wait for ever. */
  maxWaitMs?: number;
}

/** What a child says of a file. `file` is the question's number: a late answer to an earlier one is nobody's. */
export interface ChildAnswer {
  file: number;
  /** The child does not want another file: it has grown. */
  worn?: boolean;
}

export interface ChildPool<Question, Answer> {
  /**
   * Undefined: no answer within the limits. Throws when no child starts, which is no file's fault, when it was aborted, and
   * TooManyWait.
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
    // Who comes next need not wait for its start. One that was killed is not replaced before somebody wants it.
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

interface Patience {
  signal: AbortSignal | undefined;
  maxWaitMs: number | undefined;
  name: string;
}

function startIdle(plan: ChildPlan): Child {
  const child = start(plan);
  unrefChild(child);
  return child;
}

/** Who gave up while waiting has left the queue when he hears of it: no child is handed to nobody. */
function inTurn(waiting: ((child: Child) => void)[], { signal, maxWaitMs, name }: Patience): Promise<Child> {
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

/** Undefined: no answer in time, no child any more, or nobody who still wants one. */
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
