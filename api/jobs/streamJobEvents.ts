/** Tells what happens to a job as it happens, until it is over for the client. */
import type { Logger } from '../../infra/log.ts';
import type { TakeText } from '../http/answer.ts';
import { LOOK_EVERY_MS, type Watch } from '../queue/jobWatch.ts';
import { continueStory, endOf, isOver, type JobStory } from './jobStory.ts';

export interface Telling {
  watch: Watch;
  story: JobStory;
  /** The events so far that the client does not have. */
  begun: string;
  read(after: number): Promise<Parameters<typeof continueStory>[1]>;
  /** False: the client's key is no longer good. */
  mayHear(): Promise<boolean>;
  /** The client is gone. */
  signal: AbortSignal;
  stopping: AbortSignal;
  log: Logger;
  times?: TellingTimes;
}

interface TellingTimes {
  /** Between two words at most: proxies cut what is silent. */
  heartbeatMs: number;
  /** A stream at most; the client goes on with another. */
  longestMs: number;
}

const TIMES: TellingTimes = { heartbeatMs: 15_000, longestMs: 3_600_000 };
const HEARTBEAT = ': still running\n\n';
const NOTHING_NEW = ': nothing new yet\n\n';

/** Nothing waits here for a client that is behind but this stream: what it has not taken is not even read. */
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
  // The client sees at once that it is heard.
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
    const restMs = Math.min(
      LOOK_EVERY_MS,
      spokenAt + heartbeatMs - performance.now(),
      until - performance.now(),
    );
    await watch.rest(Math.max(0, restMs));
    const heard = await news(telling);
    if (heard === undefined) return;
    text = heard;
  }
}

function isTimeUp(stopping: AbortSignal, until: number): boolean {
  return stopping.aborted || performance.now() >= until;
}

/**
 * Undefined: there is no more to tell this client. A database that does not answer is asked again at the next turn:
 * nothing is lost meanwhile.
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

/** Milliseconds until the client should be back; spread, so that they do not all come at once. */
function comeBack(): string {
  return `retry: ${1_000 + Math.floor(Math.random() * 2_000)}\n\n`;
}
