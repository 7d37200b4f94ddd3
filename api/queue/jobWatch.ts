/**
 * Wakes the requests of this process that wait for changes of a job. They read the change themselves: a lost
 * notification costs a moment, never an event.
 */
import { FareboxError } from '../../domain/errors.ts';
import { JOB_CHANNEL } from '../../infra/postgres/jobChanges.ts';
import type { Channel } from '../../infra/postgres/listener.ts';

/** Interval after which a job is read although no notification came. */
export const LOOK_EVERY_MS = 5_000;

/** Limit of one account in one process: each watch costs a connection and a query every few seconds. */
export const WATCHES_PER_ACCOUNT = 100;
const WATCHES_PER_PROCESS = 1_000;
/**
 * When more than half are taken, an account gets at most this share of the rest: a few accounts never take all of it.
 */
const CROWDED_SHARE = 0.1;

export interface JobChangeWaiter {
  /** Resolves when the job may have changed since the last rest, when `wake` is called, or after `ms`. */
  waitForChange(ms: number): Promise<void>;
  wake(): void;
  /** Called once, on every way out. */
  close(): void;
}

export interface JobWatch {
  channel: Channel;
  /**
   * Open it before the job is first read. Throws FareboxError `rate_limited` or `unavailable` when there are too many.
   */
  watch(job: { queueId: string; accountId: string }): JobChangeWaiter;
  readonly open: number;
}

export function createJobWatch(): JobWatch {
  const byJob = new Map<string, Set<JobChangeWaiter>>();
  const byAccount = new Map<string, number>();
  let open = 0;

  function enter(accountId: string): void {
    const count = byAccount.get(accountId) ?? 0;
    if (open >= WATCHES_PER_PROCESS) throw tooManyOfAll();
    const max = maxWatchesBeside(open - count);
    if (count >= max) throw tooManyOfAccount(max);
    byAccount.set(accountId, count + 1);
    open += 1;
  }

  function leave(accountId: string): void {
    const count = (byAccount.get(accountId) ?? 1) - 1;
    if (count === 0) byAccount.delete(accountId);
    else byAccount.set(accountId, count);
    open -= 1;
  }

  return {
    channel: {
      name: JOB_CHANNEL,
      onMessage: (queueId) => wakeAll(byJob.get(queueId)),
      onGap: () => byJob.forEach(wakeAll),
    },
    watch({ queueId, accountId }) {
      enter(accountId);
      const others = byJob.get(queueId) ?? new Set();
      byJob.set(queueId, others);
      const watch = createWatch(() => {
        others.delete(watch);
        if (others.size === 0 && byJob.get(queueId) === others) byJob.delete(queueId);
        leave(accountId);
      });
      others.add(watch);
      return watch;
    },
    get open() {
      return open;
    },
  };
}

/** Limit of one account while others have this many. */
function maxWatchesBeside(others: number): number {
  const free = WATCHES_PER_PROCESS - others;
  if (free >= WATCHES_PER_PROCESS / 2) return WATCHES_PER_ACCOUNT;
  return Math.max(1, Math.floor(free * CROWDED_SHARE));
}

function wakeAll(watches: ReadonlySet<JobChangeWaiter> | undefined): void {
  for (const watch of watches ?? []) watch.wake();
}

function createWatch(onClose: () => void): JobChangeWaiter {
  let woken = false;
  let resume: (() => void) | undefined;
  return {
    async waitForChange(ms) {
      if (!woken) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          resume = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      woken = false;
      resume = undefined;
    },
    wake() {
      woken = true;
      resume?.();
    },
    close: onClose,
  };
}

function tooManyOfAccount(max: number): FareboxError {
  const message = `At most ${max} streams of job events may be open at once for one account.`;
  return new FareboxError({ code: 'rate_limited', message, retryAfterSeconds: 5 });
}

function tooManyOfAll(): FareboxError {
  const message = 'Too many streams of job events are open at the moment; please try again.';
  return new FareboxError({ code: 'unavailable', message, retryAfterSeconds: 5 });
}
