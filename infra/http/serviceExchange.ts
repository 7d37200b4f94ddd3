/** One request and its answer. A piece of the answer costs no allocation but its reader's promise (bench `chat`). */
import type { Dispatcher } from 'undici';
import { ConnectFailure } from './guardedConnector.ts';
import { BodyTooLarge } from './saveBody.ts';
import { ServiceHttpError, type ServiceHttpFailure } from './serviceHttpError.ts';

export interface ExchangeLimits {
  /**
   * `whole`: for calls that must not be repeated. undici measures the time; after any failure but that of the
   * connection the request may have been sent. `streamed`: never paused (unpaused.ts says what undici 7 does then).
   * `paused`: read as fast as the reader, whose pauses do not count as silence; needs a connection that can be paused.
   */
  kind: 'whole' | 'streamed' | 'paused';
  firstByteMs: number;
  idleMs: number;
  maxBytes: number;
}

type Controller = Pick<Dispatcher.DispatchController, 'abort' | 'pause' | 'resume'>;

interface ExchangeWatch {
  /** A connection has taken the request. */
  sent(): void;
  /** Called once, whatever ended the exchange. */
  over(sent: boolean): void;
}

interface ReplyHead {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
}

interface ReplyWaiter<T> {
  resolve(value: T): void;
  reject(error: ServiceHttpError): void;
}

/** Body of an answer, for one reader. Unread pieces are kept, up to the limit of the answer. */
export type ServiceBody = Pick<ServiceExchange, 'next' | 'whole' | 'release' | 'abort'>;

export class ServiceExchange implements Dispatcher.DispatchHandler {
  readonly head: Promise<ReplyHead>;
  private readonly limits: ExchangeLimits;
  private readonly watch: ExchangeWatch;
  private headWaiting: ReplyWaiter<ReplyHead> | undefined;
  private reader: ReplyWaiter<Buffer | undefined> | undefined;
  private controller: Controller | undefined;
  private timer: NodeJS.Timeout | undefined;
  private pieces: Buffer[] = [];
  private receivedBytes = 0;
  private begun = false;
  private over = false;
  private released = false;
  private failure: ServiceHttpError | undefined;

  constructor(limits: ExchangeLimits, watch: ExchangeWatch) {
    this.limits = limits;
    this.watch = watch;
    this.head = new Promise((resolve, reject) => {
      this.headWaiting = { resolve, reject };
    });
  }

  stop(reason: unknown): void {
    this.fail('stopped', reason);
  }

  onRequestStart(controller: Controller): void {
    if (this.over) {
      controller.abort(new Error('given up before it was sent'));
      return;
    }
    this.controller = controller;
    this.watch.sent();
    if (this.limits.kind !== 'whole') this.startClock(this.limits.firstByteMs, 'first byte');
  }

  onResponseStart(_controller: Controller, status: number, headers: Dispatcher.ResponseData['headers']): void {
    if (status < 200) return;
    if (this.limits.kind === 'paused') clearTimeout(this.timer);
    this.headWaiting?.resolve({ status, headers });
    this.headWaiting = undefined;
  }

  onResponseData(_controller: Controller, piece: Buffer): void {
    if (this.over) return;
    this.refresh();
    this.receivedBytes += piece.length;
    if (this.receivedBytes > this.limits.maxBytes) {
      this.fail('garbage', new BodyTooLarge(`more than ${this.limits.maxBytes} bytes`));
    } else if (this.reader !== undefined) {
      const { resolve } = this.reader;
      this.reader = undefined;
      resolve(piece);
    } else if (!this.released) {
      this.pieces.push(piece);
      if (this.limits.kind === 'paused') this.controller?.pause();
    }
  }

  onResponseEnd(): void {
    if (this.over) return;
    this.finish();
    this.reader?.resolve(undefined);
    this.reader = undefined;
  }

  onResponseError(_controller: Controller | undefined, error: Error): void {
    this.fail(this.failureOf(error), error);
  }

  /** Returns all bytes that have arrived since, as one piece; undefined at the end. */
  next(): Promise<Buffer | undefined> {
    if (this.pieces.length > 0) {
      const [first] = this.pieces;
      const piece = this.pieces.length === 1 ? first : Buffer.concat(this.pieces);
      this.pieces = [];
      if (this.limits.kind === 'paused') this.controller?.resume();
      return Promise.resolve(piece);
    }
    if (this.failure !== undefined) return Promise.reject(this.failure);
    if (this.over) return Promise.resolve(undefined);
    if (this.limits.kind === 'paused') this.startClock(this.limits.idleMs, 'silence');
    return new Promise((resolve, reject) => {
      this.reader = { resolve, reject };
    });
  }

  /** For large bodies: returns single pieces, where `next` would copy all waiting ones. */
  nextPiece(): Promise<Buffer | undefined> {
    return this.pieces.length > 1 ? Promise.resolve(this.pieces.shift()) : this.next();
  }

  /** Reads the rest; more than `maxBytes` is a failure of kind `garbage`. */
  async whole(maxBytes: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let sizeBytes = 0;
    for (let piece = await this.next(); piece !== undefined; piece = await this.next()) {
      sizeBytes += piece.length;
      if (sizeBytes > maxBytes) {
        const cause = new BodyTooLarge(`more than ${maxBytes} bytes`);
        this.fail('garbage', cause);
        throw new ServiceHttpError('garbage', 'unknown', cause);
      }
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }

  /** Ignores the rest; the connection can be reused after it. */
  release(): void {
    this.released = true;
    this.pieces = [];
    if (this.limits.kind === 'paused') this.controller?.resume();
  }

  /** Ends the connection. */
  abort(): void {
    this.fail('stopped', new Error('of no more interest'));
  }

  /** The first piece ends the wait for the first byte; then only silence is measured. */
  private refresh(): void {
    if (this.begun) {
      this.timer?.refresh();
      return;
    }
    clearTimeout(this.timer);
    if (this.limits.kind !== 'streamed') return;
    this.begun = true;
    this.startClock(this.limits.idleMs, 'silence');
  }

  private startClock(ms: number, awaited: string): void {
    this.timer = setTimeout(() => this.fail('timeout', new Error(awaited)), ms);
  }

  private failureOf(error: Error): ServiceHttpFailure {
    const code = 'code' in error ? String(error.code) : '';
    if (code === 'UND_ERR_INVALID_ARG') return 'unsendable';
    if (error instanceof ConnectFailure || this.controller === undefined) return 'unreachable';
    if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'timeout';
    const isUnreadable =
      code === 'UND_ERR_HEADERS_OVERFLOW' || error.name === 'HTTPParserError' || code.startsWith('HPE_');
    return isUnreadable && code !== 'HPE_INVALID_EOF_STATE' ? 'garbage' : 'lost';
  }

  private fail(failure: ServiceHttpFailure, cause: unknown): void {
    if (this.over) return;
    const sent = this.isCertainlyUnsent(failure, cause) ? 'not_sent' : 'unknown';
    this.failure = new ServiceHttpError(failure, sent, cause);
    this.finish();
    this.headWaiting?.reject(this.failure);
    this.headWaiting = undefined;
    this.reader?.reject(this.failure);
    this.reader = undefined;
    this.controller?.abort(this.failure);
  }

  private isCertainlyUnsent(failure: ServiceHttpFailure, cause: unknown): boolean {
    if (this.controller !== undefined) return false;
    return this.limits.kind !== 'whole' || failure === 'stopped' || cause instanceof ConnectFailure;
  }

  private finish(): void {
    this.over = true;
    clearTimeout(this.timer);
    this.watch.over(this.controller !== undefined);
  }
}
