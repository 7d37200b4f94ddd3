/** Streams the changes of a job as they happen, until it is over for the client. */
import type { Logger } from '../../infra/log.ts';
import type { TakeText } from '../http/answer.ts';
import { type JobChangeWaiter, LOOK_EVERY_MS } from '../queue/jobWatch.ts';
import { appendChanges, endEventOf, isEnded, type JobEventState } from './jobEventState.ts';

export interface JobEventStream {
  watch: JobChangeWaiter;
  eventState: JobEventState;
  /** Events that the client does not have yet. */
  firstEvents: string;
  read(after: number): Promise<Parameters<typeof appendChanges>[1]>;
  /** False: the client's key is no longer valid. */
  isKeyValid(): Promise<boolean>;
  /** The client is gone. */
  signal: AbortSignal;
  stopping: AbortSignal;
  log: Logger;
  times?: JobEventStreamTimes;
}

interface JobEventStreamTimes {
  /** Longest silence: proxies close silent connections. */
  heartbeatMs: number;
  /** Longest stream; the client continues with another. */
  longestMs: number;
}

const TIMES: JobEventStreamTimes = { heartbeatMs: 15_000, longestMs: 3_600_000 };
const HEARTBEAT = ': still running\n\n';
const NOTHING_NEW = ': nothing new yet\n\n';

/** Only this stream waits for a slow client: events that it cannot take are not even read. */
export async function streamJobEvents(stream: JobEventStream, take: TakeText): Promise<void> {
  const { watch, signal, stopping } = stream;
  const ends = [signal, stopping];
  for (const end of ends) end.addEventListener('abort', watch.wake);
  try {
    await writeEvents(stream, take);
  } finally {
    for (const end of ends) end.removeEventListener('abort', watch.wake);
    watch.close();
  }
}

async function writeEvents(stream: JobEventStream, take: TakeText): Promise<void> {
  const { watch, eventState, firstEvents, signal, stopping } = stream;
  const { heartbeatMs, longestMs } = stream.times ?? TIMES;
  const until = performance.now() + longestMs;
  // Shows the client at once that the stream is open.
  let text = firstEvents === '' && !isEnded(eventState) ? NOTHING_NEW : firstEvents;
  let spokenAt = performance.now();
  for (;;) {
    if (isEnded(eventState)) {
      await take(text + endEventOf(eventState));
      return;
    }
    if (text === '' && performance.now() >= spokenAt + heartbeatMs) text = HEARTBEAT;
    if (text !== '') {
      if (!(await take(text))) return;
      spokenAt = performance.now();
    }
    if (signal.aborted) return;
    if (isTimeUp(stopping, until)) {
      await take(retryEvent());
      return;
    }
    const pauseMs = Math.min(LOOK_EVERY_MS, spokenAt + heartbeatMs - performance.now(), until - performance.now());
    await watch.waitForChange(Math.max(0, pauseMs));
    const newEvents = await readNewEvents(stream);
    if (newEvents === undefined) return;
    text = newEvents;
  }
}

function isTimeUp(stopping: AbortSignal, until: number): boolean {
  return stopping.aborted || performance.now() >= until;
}

/**
 * Undefined: no more events for this client. If the database does not answer, the next turn asks again: nothing is lost
 * meanwhile.
 */
async function readNewEvents({ eventState, read, isKeyValid, log }: JobEventStream): Promise<string | undefined> {
  try {
    if (!(await isKeyValid())) return undefined;
    return appendChanges(eventState, await read(eventState.seq));
  } catch (err) {
    log.info({ err, queueId: eventState.queueId }, 'the events of a job cannot be read now');
    return '';
  }
}

/** Milliseconds until the client should reconnect; spread, so that clients do not reconnect at once. */
function retryEvent(): string {
  return `retry: ${1_000 + Math.floor(Math.random() * 2_000)}\n\n`;
}
