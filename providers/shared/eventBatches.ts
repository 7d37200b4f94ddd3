/** Converts the pieces of a body to chat events, one batch per piece. */
import type { ChatDelta, ChatEvent, Completion } from '../../domain/text/chat.ts';
import type { ServiceBody } from '../../infra/http/serviceExchange.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import { EventStreamParser } from './eventStream.ts';
import { asFailure, garbageFailure, lostFailure } from './textFailures.ts';
import type { ChatStream } from './textProvider.ts';

/** Reads one service's frames. Throws UpstreamFailure; events already added to `events` still count. */
export interface FrameReader {
  readonly upstreamId: string | undefined;
  readonly upstreamModel: string | undefined;
  /** Adds a frame's events to `events`; returns true after the last frame. */
  read(data: string, events: ChatEvent[]): boolean;
  /** Whether the answer is complete. Then a missing last frame or a broken end loses nothing. */
  complete(): boolean;
}

/** Resolves with the first event, so that an immediate failure can still become an HTTP status. */
export async function openChatStream(body: ServiceBody, reader: FrameReader): Promise<ChatStream> {
  const batches = new EventBatches(body, reader);
  await batches.begin();
  return {
    events: batches,
    get upstreamId() {
      return reader.upstreamId;
    },
    get upstreamModel() {
      return reader.upstreamModel;
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

  /** One await per piece: with hundreds of streams each further one costs more than their frames (bench `chat`). */
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

  /** Only the body throws ServiceHttpError; readers throw other errors. */
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

/** Converts a whole answer to the events of an equal stream. */
function wholeAsEvents({ choices, usage }: Completion): ChatEvent[] {
  const events = choices.flatMap(({ index, message, finishReason, logprobs }): ChatEvent[] => {
    const { content, tool_calls: calls, ...rest } = message;
    const delta: ChatDelta = { ...rest };
    if (content !== null && content !== '') delta.content = content;
    if (calls !== undefined) {
      delta.tool_calls = calls.map((call, at) => ({ index: at, id: call.id, ...call.function }));
    }
    const deltaEvent = { type: 'delta', index, delta, ...(logprobs === undefined ? {} : { logprobs }) } as const;
    const finish = { type: 'finish', index, reason: finishReason } as const;
    return Object.keys(delta).length > 0 || logprobs !== undefined ? [deltaEvent, finish] : [finish];
  });
  return usage === undefined ? events : [...events, { type: 'usage', usage }];
}

/** Wraps a whole answer as a stream of one batch. */
export function toChatStream(completion: Completion): ChatStream {
  async function* once(): AsyncGenerator<ChatEvent[]> {
    yield wholeAsEvents(completion);
  }
  const { upstreamId, upstreamModel } = completion;
  return { events: once(), upstreamId, upstreamModel };
}
