/** What a handler gives back: a JSON body, one that was prepared before, or bytes that are streamed, of a known length or not. */
import type { Readable } from 'node:stream';

export interface JsonAnswer {
  kind: 'json';
  /** 200 by default. */
  status: number;
  headers: Record<string, string>;
  body: unknown;
  /** Sent as gzip or br to a client that says it takes them. */
  compressible?: boolean;
}

/** JSON that was written down before; without bytes for a status that has no body. */
export interface PreparedAnswer {
  kind: 'prepared';
  status: number;
  headers: Record<string, string>;
  bytes: Buffer | undefined;
}

export interface BinaryAnswer {
  kind: 'binary';
  status: number;
  headers: Record<string, string>;
  stream: Readable;
  contentType: string;
  /** Exactly as many bytes must come out of the stream; anything else cuts the connection. */
  sizeBytes: number;
  /** Runs once when the client has begun to get the answer: no byte of the stream is sent before it resolved. */
  onBegun?: () => Promise<void>;
  /**
   * Runs once, after the last byte was handed to the connection. Shutdown waits for it. `isReceived` tells, some seconds
   * later at worst, whether the client took it: for what must not be done to one that was cut off.
   */
  onDelivered?: (isReceived: () => Promise<boolean>) => Promise<void>;
  /** Runs once when the client went away, the stream broke or the deadline passed before that. */
  onAborted?: () => Promise<void>;
}

/** Bytes of a length that nobody knows before their end: sent in chunks, as fast as the client takes them. */
export interface StreamAnswer {
  kind: 'stream';
  status: number;
  headers: Record<string, string>;
  stream: Readable;
  contentType: string;
  /** Runs once when there is a first chunk and a client to take it: nothing is sent before it resolved. */
  onBegun?: () => Promise<void>;
  /** Runs once when all of it has come: the end is not sent before it resolved. */
  onWhole?: () => Promise<void>;
  /** Runs once when the client went away, or the stream broke, before `onBegun` or after it. */
  onAborted?: (by: StreamBreaker) => Promise<void>;
}

/** Who ended a stream before its end. */
export type StreamBreaker = 'client' | 'source';

/** Takes the text of whole events. False: nobody takes any more. A promise only where the client is behind. */
export type TakeText = (text: string) => boolean | Promise<boolean>;

/** Server-sent events, each text written out as it comes. */
export interface EventAnswer {
  kind: 'events';
  status: number;
  headers: Record<string, string>;
  /**
   * To be called once, also where nobody takes anything: it ends what was begun. What failed before it was an ordinary
   * answer. Texts are pushed, not asked for: thousands a second pass here.
   */
  tell(take: TakeText): Promise<void>;
}

export type Answer = JsonAnswer | PreparedAnswer | BinaryAnswer | StreamAnswer | EventAnswer;

export interface AnswerOptions {
  status?: number;
  headers?: Record<string, string>;
}

const NO_HEADERS: Record<string, string> = Object.freeze({});

export function json(body: unknown, options?: AnswerOptions): JsonAnswer {
  return { kind: 'json', status: options?.status ?? 200, headers: options?.headers ?? NO_HEADERS, body };
}

export function preparedAnswer(bytes: Buffer | undefined, options?: AnswerOptions): PreparedAnswer {
  return { kind: 'prepared', status: options?.status ?? 200, headers: options?.headers ?? NO_HEADERS, bytes };
}

export function events(tell: EventAnswer['tell'], options?: AnswerOptions): EventAnswer {
  return { kind: 'events', status: options?.status ?? 200, headers: options?.headers ?? NO_HEADERS, tell };
}

/** The same answer with further headers. */
export function withHeaders(answer: Answer, headers: Readonly<Record<string, string>>): Answer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/** `release`: lets go of what the answer is made from, which events need until their end. */
export function releasing(answer: Answer, release: () => void): Answer {
  if (answer.kind === 'events') return { ...answer, tell: (take) => answer.tell(take).finally(release) };
  release();
  return answer;
}

/** Lets go of what an answer holds that nobody will be sent. */
export async function discardAnswer(answer: Answer): Promise<void> {
  if (answer.kind === 'json' || answer.kind === 'prepared') return;
  if (answer.kind === 'events') return await answer.tell(() => false);
  answer.stream.destroy();
  await answer.onAborted?.('client');
}

export function binary(
  bytes: Pick<BinaryAnswer, 'stream' | 'contentType' | 'sizeBytes' | 'onBegun' | 'onDelivered' | 'onAborted'>,
  options?: AnswerOptions,
): BinaryAnswer {
  return {
    kind: 'binary',
    status: options?.status ?? 200,
    headers: options?.headers ?? NO_HEADERS,
    ...bytes,
  };
}

export function stream(
  bytes: Pick<StreamAnswer, 'stream' | 'contentType' | 'onBegun' | 'onWhole' | 'onAborted'>,
  options?: AnswerOptions,
): StreamAnswer {
  return {
    kind: 'stream',
    status: options?.status ?? 200,
    headers: options?.headers ?? NO_HEADERS,
    ...bytes,
  };
}
