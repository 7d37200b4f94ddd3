/** From the pieces of an answer to events of a chat, one list per piece of the network. */
import type { ChatDelta, ChatEvent, Completion } from '../../domain/text/chat.ts';
import type { ServiceBody } from '../../infra/http/serviceExchange.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import { EventStreamParser } from './eventStream.ts';
import { asFailure, garbageFailure, lostFailure } from './textFailures.ts';
import type { ChatStream } from './textProvider.ts';

/** How one service's frames are read; throws UpstreamFailure, and what was added to `events` before still counts. */
export interface FrameReader {
  readonly upstreamId: string | undefined;
  /** Adds to `events` what a frame says; true when it was the last one. */
  read(data: string, events: ChatEvent[]): boolean;
  /** Everything was told: an end without the service's own last frame, even a broken one, takes nothing away. */
  complete(): boolean;
}

/** Resolves with the first event, so that a service that fails at once can still be told by a status. */
export async function openChatStream(body: ServiceBody, reader: FrameReader): Promise<ChatStream> {
  const batches = new EventBatches(body, reader);
  await batches.begin();
  return {
    events: batches,
    get upstreamId() {
      return reader.upstreamId;
    },
  };
}

type NextBatch = IteratorResult<ChatEvent[], undefined>;

const OVER: NextBatch = { done: true, value: undefined };

class EventBatches implements AsyncIterableIterator<ChatEvent[]> {
  private readonly parser = new EventStreamParser();
  private readonly body: ServiceBody;
  private readonly reader: FrameReader;
  private first: NextBatch | undefined;
  private anyBytes = false;
  private anyFrame = false;
  private over = false;
  private failure: unknown;

  constructor(body: ServiceBody, reader: FrameReader) {
    this.body = body;
    this.reader = reader;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async begin(): Promise<void> {
    this.first = await this.more();
  }

  next(): Promise<NextBatch> {
    const { first } = this;
    if (first === undefined) return this.more();
    this.first = undefined;
    return Promise.resolve(first);
  }

  async return(): Promise<NextBatch> {
    if (!this.over) this.body.abort();
    this.over = true;
    return OVER;
  }

  /** The only wait per piece: each further one costs hundreds of streams more than their frames (bench `chat`). */
  private async more(): Promise<NextBatch> {
    const events: ChatEvent[] = [];
    while (events.length === 0) {
      if (this.failure !== undefined) throw this.failure;
      if (this.over) return OVER;
      try {
        this.take(await this.body.next(), events);
      } catch (error) {
        this.fail(error);
      }
    }
    return { done: false, value: events };
  }

  private take(piece: Buffer | undefined, events: ChatEvent[]): void {
    if (this.over) return;
    this.anyBytes ||= piece !== undefined;
    for (const data of piece === undefined ? this.parser.end() : this.parser.push(piece)) {
      if (data === '') continue;
      this.anyFrame = true;
      if (!this.reader.read(data, events)) continue;
      this.over = true;
      this.body.release();
      return;
    }
    if (piece === undefined) this.end();
  }

  /** Only the body fails with a ServiceHttpError: what a reader makes of its frames has other names. */
  private fail(error: unknown): void {
    const broke = error instanceof ServiceHttpError && error.failure !== 'stopped';
    if (broke && this.reader.complete()) {
      this.over = true;
      return;
    }
    this.failure = asFailure(error);
    this.body.abort();
  }

  private end(): void {
    this.over = true;
    if (this.reader.complete()) return;
    throw this.anyBytes && !this.anyFrame
      ? garbageFailure('no event stream')
      : lostFailure('the stream ended in the middle');
  }
}

/** The events of a stream that would have said the same. */
function wholeAsEvents({ choices, usage }: Completion): ChatEvent[] {
  const events = choices.flatMap(({ index, message, finishReason, logprobs }): ChatEvent[] => {
    const { content, tool_calls: calls, ...rest } = message;
    const delta: ChatDelta = { ...rest };
    if (content !== null && content !== '') delta.content = content;
    if (calls !== undefined) {
      delta.tool_calls = calls.map((call, at) => ({ index: at, id: call.id, ...call.function }));
    }
    const told = { type: 'delta', index, delta, ...(logprobs === undefined ? {} : { logprobs }) } as const;
    const finish = { type: 'finish', index, reason: finishReason } as const;
    return Object.keys(delta).length > 0 || logprobs !== undefined ? [told, finish] : [finish];
  });
  return usage === undefined ? events : [...events, { type: 'usage', usage }];
}

/** Answer of a service that does not stream, as one batch. */
export function toChatStream(completion: Completion): ChatStream {
  async function* once(): AsyncGenerator<ChatEvent[]> {
    yield wholeAsEvents(completion);
  }
  return { events: once(), upstreamId: completion.upstreamId };
}
