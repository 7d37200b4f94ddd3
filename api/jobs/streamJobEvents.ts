/** Streams the changes of a job as they happen, until it is over for the client. */
import type { Logger } from '../../infra/log.ts';
import type { TakeText } from '../http/answer.ts';
import { LOOK_EVERY_MS, type Watch } from '../queue/jobWatch.ts';
import { continueStory, endOf, isOver, type JobStory } from './jobStory.ts';

export interface Telling {
  watch: Watch;
  story: JobStory;
  /** Events that the client does not have yet. */
  begun: string;
  read(after: number): Promise<Parameters<typeof continueStory>[1]>;
  /** False: the client's key is no longer valid. */
  mayHear(): Promise<boolean>;
  /** The client is gone. */
  signal: AbortSignal;
  stopping: AbortSignal;
  log: Logger;
  times?: TellingTimes;
}

interface TellingTimes {
  /** Longest silence: proxies close silent connections. */
  heartbeatMs: number;
  /** Longest stream; the client continues with another. */
  longestMs: number;
}

const TIMES: TellingTimes = { heartbeatMs: 15_000, longestMs: 3_600_000 };
const HEARTBEAT = ': still running\n\n';
const NOTHING_NEW = ': nothing new yet\n\n';

/** Only this stream waits for a slow client: events that it cannot take are not even read. */
export async function streamJobEvents(telling: Telling, take: TakeText): Promise<void> {
  const { watch, signal, stopping } = telling;
  const ends = [signal, stopping];
  for (const end of ends) end.addEventListener('abort', watch.wake);
  try {
    await tell(telling, take);
  } finally {
    for (const end of ends) end.removeEventListener('abort', watch.wake);
    watch.close();
  }
}

async function tell(telling: Telling, take: TakeText): Promise<void> {
  const { watch, story, begun, signal, stopping } = telling;
  const { heartbeatMs, longestMs } = telling.times ?? TIMES;
  const until = performance.now() + longestMs;
  // Shows the client at once that the stream is open.
  let text = begun === '' && !isOver(story) ? NOTHING_NEW : begun;
  let spokenAt = performance.now();
  for (;;) {
    if (isOver(story)) {
      await take(text + endOf(story));
      return;
    }
    if (text === '' && performance.now() >= spokenAt + heartbeatMs) text = HEARTBEAT;
    if (text !== '') {
      if (!(await take(text))) return;
      spokenAt = performance.now();
    }
    if (signal.aborted) return;
    if (isTimeUp(stopping, until)) {
      await take(comeBack());
      return;
    }
    const pauseMs = Math.min(LOOK_EVERY_MS, spokenAt + heartbeatMs - performance.now(), until - performance.now());
    await watch.rest(Math.max(0, pauseMs));
    const heard = await news(telling);
    if (heard === undefined) return;
    text = heard;
  }
}

function isTimeUp(stopping: AbortSignal, until: number): boolean {
  return stopping.aborted || performance.now() >= until;
}

/**
 * Undefined: no more events for this client. If the database does not answer, the next turn asks again: nothing is lost
 * meanwhile.
 */
async function news({ story, read, mayHear, log }: Telling): Promise<string | undefined> {
  try {
    if (!(await mayHear())) return undefined;
    return continueStory(story, await read(story.seq));
  } catch (err) {
    log.info({ err, queueId: story.queueId }, 'the events of a job cannot be read now');
    return '';
  }
}

/** Milliseconds until the client should reconnect; spread, so that clients do not reconnect at once. */
function comeBack(): string {
  return `retry: ${1_000 + Math.floor(Math.random() * 2_000)}\n\n`;
}
