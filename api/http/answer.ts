/** Answer of a handler: a JSON body, a prepared body, or a stream of bytes of known or unknown length. */
import type { Readable } from 'node:stream';

export interface JsonAnswer {
  kind: 'json';
  /** 200 by default. */
  status: number;
  headers: Record<string, string>;
  body: unknown;
  /** Compressed as gzip or br for clients that accept it. */
  compressible?: boolean;
}

/** JSON that was serialised before; without bytes for a status without a body. */
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
  /** Bytes of the stream; any other number cuts the connection. */
  sizeBytes: number;
  /** Runs once, before the first byte of the stream: none is sent until it resolves. */
  onBegun?: () => Promise<void>;
  /**
   * Runs once, after the last byte was handed to the connection. Shutdown waits for it. `isReceived` tells, after some
   * seconds at most, whether the client received it: for actions that must not follow an answer that was cut off.
   */
  onDelivered?: (isReceived: () => Promise<boolean>) => Promise<void>;
  /** Runs once when the client disconnects, the stream breaks or the deadline passes before that. */
  onAborted?: () => Promise<void>;
}

/** Bytes of unknown length: sent in chunks, as fast as the client reads. */
export interface StreamAnswer {
  kind: 'stream';
  status: number;
  headers: Record<string, string>;
  stream: Readable;
  contentType: string;
  /** Runs once, before the first chunk: nothing is sent until it resolves. */
  onBegun?: () => Promise<void>;
  /** Runs once after the last chunk of the source: the end is not sent until it resolves. */
  onWhole?: () => Promise<void>;
  /** Runs once when the client disconnects or the stream breaks, before `onBegun` or after it. */
  onAborted?: (by: StreamBreaker) => Promise<void>;
}

/** The side that broke a stream off. */
export type StreamBreaker = 'client' | 'source';

/** Takes the text of whole events. False: the client is gone. Returns a promise only while the client is behind. */
export type TakeText = (text: string) => boolean | Promise<boolean>;

/** Server-sent events, each text sent as it comes. */
export interface EventAnswer {
  kind: 'events';
  status: number;
  headers: Record<string, string>;
  /**
   * Called once, also when the client is gone: it ends the work that was begun. Errors before it are ordinary answers.
   * Texts are pushed, not pulled: thousands a second pass here.
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

/** `release`: frees what the answer is made from; event answers need it until their end. */
export function releasing(answer: Answer, release: () => void): Answer {
  if (answer.kind === 'events') return { ...answer, tell: (take) => answer.tell(take).finally(release) };
  release();
  return answer;
}

/** Frees what an answer holds that will not be sent. */
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
