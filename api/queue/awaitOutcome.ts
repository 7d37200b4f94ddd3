/** `Prefer: wait=N`: an answer that waits until its job has left the running states, or N seconds are over. */
import { isRunning } from '../../domain/jobs.ts';
import { findJob, type JobRow } from '../../infra/postgres/jobs.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RouteRequest } from '../http/route.ts';
import { type JobChangeWaiter, LOOK_EVERY_MS } from './jobWatch.ts';
import { MAX_WAIT_SECONDS, preferredWait } from './preferredWait.ts';

/** Time that the deadline of a route must leave for the wait. */
export const MAX_WAIT_MS = MAX_WAIT_SECONDS * 1_000;

export type WaitingRequest = Pick<
  RouteRequest<unknown, unknown, 'key'>,
  'caller' | 'headers' | 'log' | 'signal' | 'stopping' | 'waitFor'
>;

export interface JobAfterWait {
  job: JobRow;
  /** Reports that the preference was applied. */
  headers: { 'Preference-Applied': string };
}

/**
 * Undefined when no wait is asked for, or none is possible now: too many are waiting, or the database does not answer.
 * The header is a preference, so that is no error. The end of the process and a client that disconnects end the wait.
 */
export async function awaitOutcome(
  { core: { sql }, jobs: { jobWatch } }: Pick<Dependencies, 'core' | 'jobs'>,
  waiting: WaitingRequest,
  queueId: string,
): Promise<JobAfterWait | undefined> {
  const seconds = preferredWait(waiting.headers.prefer);
  if (seconds === undefined) return undefined;
  const { accountId } = waiting.caller;
  try {
    const watch = jobWatch.watch({ queueId, accountId });
    const until = performance.now() + seconds * 1_000;
    const read = () => findJob(sql, { queueId, accountId });
    const job = await waiting.waitFor(waitUntilEnded({ read, watch, until }, waiting));
    return job && { job, headers: { 'Preference-Applied': `wait=${seconds}` } };
  } catch (err) {
    waiting.log.info({ err, queueId }, 'an outcome was not waited for');
    return undefined;
  }
}

interface OutcomeWait {
  read(): Promise<JobRow | undefined>;
  watch: JobChangeWaiter;
  /** By `performance.now()`. */
  until: number;
}

async function waitUntilEnded(
  { read, watch, until }: OutcomeWait,
  { signal, stopping }: Pick<WaitingRequest, 'signal' | 'stopping'>,
): Promise<JobRow | undefined> {
  const ends = [signal, stopping];
  for (const end of ends) end.addEventListener('abort', watch.wake);
  try {
    for (;;) {
      const job = await read();
      const remainingMs = until - performance.now();
      if (!job || !isRunning(job.state) || remainingMs <= 0 || ends.some((end) => end.aborted)) return job;
      await watch.waitForChange(Math.min(LOOK_EVERY_MS, remainingMs));
    }
  } finally {
    for (const end of ends) end.removeEventListener('abort', watch.wake);
    watch.close();
  }
}
