/**
 * Collects the calls of one tick into one statement. Bounded everywhere: calls waiting, batches in flight, calls per
 * batch, and how long a call may take. Bench `ledger`.
 */
import { isRetryable, isUnavailable, unavailable } from './failures.ts';
import { pauseWithJitter } from './pool.ts';

export interface BatcherOptions<Request, Result> {
  /**
   * Runs a batch and returns results in its order. Must be idempotent: a batch of unknown outcome is run again, as
   * `isRepeat`.
   */
  run(requests: Request[], isRepeat: boolean): Promise<Result[]>;
  maxBatch?: number;
  /** Concurrent batches; 1 by default. */
  maxInFlight?: number;
  maxWaiting?: number;
  /** Time from the call to its result; after it the outcome may be unknown and the caller repeats by operation id. */
  deadlineMs?: number;
  /** Number of attempts of a batch. */
  attempts?: number;
  /** A batch has calls of one group only, and each group has at most one running batch. */
  groupOf?(request: Request): string;
}

export interface Batcher<Request, Result> {
  /** With its own deadline where the caller has less time than usual. */
  call(request: Request, deadlineMs?: number): Promise<Result>;
  /** Refuses new calls and resolves when the running ones have ended. */
  close(): Promise<void>;
}

interface Call<Request, Result> {
  request: Request;
  resolve(result: Result): void;
  reject(error: unknown): void;
  timer: NodeJS.Timeout;
  ended: boolean;
}

export function createBatcher<Request, Result>(options: BatcherOptions<Request, Result>): Batcher<Request, Result> {
  const { maxInFlight = 1, maxWaiting = 10_000 } = options;
  const waiting: Call<Request, Result>[] = [];
  const groups = new Set<string>();
  let inFlight = 0;
  let scheduled = false;
  let closed: (() => void) | undefined;
  let closing = false;

  function call(request: Request, deadlineMs = options.deadlineMs ?? 10_000): Promise<Result> {
    if (closing) return Promise.reject(unavailable('the ledger is closing'));
    if (waiting.length >= maxWaiting) return Promise.reject(unavailable('too many ledger calls are waiting'));
    return new Promise((resolve, reject) => {
      waiting.push(toCall({ request, resolve, reject }, deadlineMs));
      schedule();
    });
  }

  /** Waits for the end of the tick, so that all calls of one tick share a batch. */
  function schedule(): void {
    if (scheduled || inFlight >= maxInFlight || waiting.length === 0) return;
    scheduled = true;
    setImmediate(launchAll);
  }

  function launchAll(): void {
    scheduled = false;
    while (inFlight < maxInFlight && launch());
  }

  function launch(): boolean {
    const { batch, group } = takeBatch(options, waiting, groups);
    if (batch.length === 0) return false;
    inFlight += 1;
    groups.add(group);
    const free = once(() => {
      inFlight -= 1;
      groups.delete(group);
      launchAll();
    });
    void runCalls(options, batch, { answered: free }).finally(() => {
      free();
      if (inFlight === 0 && waiting.length === 0) closed?.();
    });
    return true;
  }

  function close(): Promise<void> {
    closing = true;
    if (inFlight === 0 && waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      closed = resolve;
    });
  }

  return { call, close };
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) {
      isDone = true;
      work();
    }
  };
}

/** Takes the oldest calls out of the queue, of one group if there are groups. */
function takeBatch<Request, Result>(
  { groupOf, maxBatch = 256 }: BatcherOptions<Request, Result>,
  waiting: Call<Request, Result>[],
  underWay: ReadonlySet<string>,
): { batch: Call<Request, Result>[]; group: string } {
  const open = waiting.splice(0).filter((entry) => !entry.ended);
  const first = groupOf && open.find(({ request }) => !underWay.has(groupOf(request)));
  if (groupOf && !first) {
    waiting.push(...open);
    return { batch: [], group: '' };
  }
  const group = first ? groupOf(first.request) : '';
  const batch: Call<Request, Result>[] = [];
  for (const entry of open) {
    const fits = batch.length < maxBatch && (!groupOf || groupOf(entry.request) === group);
    (fits ? batch : waiting).push(entry);
  }
  return { batch, group };
}

function toCall<Request, Result>(
  asked: Pick<Call<Request, Result>, 'request' | 'resolve' | 'reject'>,
  deadlineMs: number,
): Call<Request, Result> {
  const late = () => end(entry, () => entry.reject(unavailable('the ledger call took too long')));
  const entry: Call<Request, Result> = { ended: false, timer: setTimeout(late, deadlineMs), ...asked };
  return entry;
}

/**
 * Runs the calls as one batch and resolves each. A failure of the database is retried; any other failure is caused by
 * one call, so then each runs alone and only that one fails.
 */
async function runCalls<Request, Result>(
  options: BatcherOptions<Request, Result>,
  batch: Call<Request, Result>[],
  { answered, isRepeat = false }: { answered?: () => void; isRepeat?: boolean },
): Promise<void> {
  const attempts = options.attempts ?? 4;
  for (let attempt = 1; ; attempt += 1) {
    const open = batch.filter((entry) => !entry.ended);
    if (open.length === 0) return;
    const run = () =>
      options.run(
        open.map(({ request }) => request),
        isRepeat || attempt > 1,
      );
    const failure = await failureOf(runOnce(run, open, answered));
    if (failure === undefined) return;
    const again = isRetryable(failure.error) || isUnavailable(failure.error);
    if (again && attempt < attempts) await pauseWithJitter(attempt);
    else if (again) return rejectAll(open, unavailable('the database did not answer', failure.error));
    else if (open.length === 1) return rejectAll(open, failure.error);
    else return runEachAlone(options, open, isRepeat || attempt > 1);
  }
}

async function runEachAlone<Request, Result>(
  options: BatcherOptions<Request, Result>,
  open: Call<Request, Result>[],
  isRepeat: boolean,
): Promise<void> {
  for (const entry of open) await runCalls(options, [entry], { isRepeat });
}

function rejectAll<Request, Result>(open: Call<Request, Result>[], error: unknown): void {
  for (const entry of open) end(entry, () => entry.reject(error));
}

async function failureOf(work: Promise<void>): Promise<{ error: unknown } | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return { error };
  }
}

async function runOnce<Request, Result>(
  run: () => Promise<Result[]>,
  open: Call<Request, Result>[],
  answered?: () => void,
): Promise<void> {
  const results = await run();
  if (results.length !== open.length) throw new Error(`${results.length} answers to ${open.length} ledger calls`);
  // Starts the waiting batch before the callers of this one continue: meanwhile the database would be idle (bench
  // `chat`).
  answered?.();
  open.forEach((entry, index) => {
    end(entry, () => entry.resolve(results[index] as Result));
  });
}

function end<Request, Result>(entry: Call<Request, Result>, answer: () => void): void {
  if (entry.ended) return;
  entry.ended = true;
  clearTimeout(entry.timer);
  answer();
}
