/**
 * One request and its answer on a connection of the pool. It never pauses the connection: see unpaused.ts for what undici 7
 * does then. Nothing is allocated per piece of the answer but the promise that its reader waits for (bench `chat`).
 */
import type { Dispatcher } from 'undici';
import { ConnectFailure } from './guardedConnector.ts';
import { BodyTooLarge } from './saveBody.ts';
import { type TextBody, TextHttpError, type TextHttpFailure } from './textHttpError.ts';

export interface ExchangeLimits {
  firstByteMs: number;
  idleMs: number;
  maxBytes: number;
}

export interface ExchangeWatch {
  /** A connection has taken the request. */
  sent(): void;
  /** Once, whatever ended it. */
  over(sent: boolean): void;
}

interface Head {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
}

interface Waiting<T> {
  resolve(value: T): void;
  reject(error: TextHttpError): void;
}

export class TextExchange implements Dispatcher.DispatchHandler, TextBody {
  readonly head: Promise<Head>;
  private readonly limits: ExchangeLimits;
  private readonly watch: ExchangeWatch;
  private headWaiting: Waiting<Head> | undefined;
  private reader: Waiting<Buffer | undefined> | undefined;
  private controller: Dispatcher.DispatchController | undefined;
  private timer: NodeJS.Timeout | undefined;
  private pieces: Buffer[] = [];
  private receivedBytes = 0;
  private begun = false;
  private over = false;
  private released = false;
  private failure: TextHttpError | undefined;

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

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.over) {
      controller.abort(new Error('given up before it was sent'));
      return;
    }
    this.controller = controller;
    this.watch.sent();
    this.timer = setTimeout(() => this.fail('timeout', new Error('first byte')), this.limits.firstByteMs);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Dispatcher.ResponseData['headers'],
  ): void {
    if (status < 200) return;
    this.headWaiting?.resolve({ status, headers });
    this.headWaiting = undefined;
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.over) return;
    this.refresh();
    this.receivedBytes += piece.length;
    if (this.receivedBytes > this.limits.maxBytes) {
      this.fail('garbage', new BodyTooLarge(`more than ${this.limits.maxBytes} bytes`));
    } else if (this.reader !== undefined) {
      const { resolve } = this.reader;
      this.reader = undefined;
      resolve(piece);
    } else if (!this.released) this.pieces.push(piece);
  }

  onResponseEnd(): void {
    if (this.over) return;
    this.finish();
    this.reader?.resolve(undefined);
    this.reader = undefined;
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.fail(this.kindOf(error), error);
  }

  next(): Promise<Buffer | undefined> {
    if (this.pieces.length > 0) {
      const [first] = this.pieces;
      const piece = this.pieces.length === 1 ? first : Buffer.concat(this.pieces);
      this.pieces = [];
      return Promise.resolve(piece);
    }
    if (this.failure !== undefined) return Promise.reject(this.failure);
    if (this.over) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      this.reader = { resolve, reject };
    });
  }

  async whole(maxBytes: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let sizeBytes = 0;
    for (let piece = await this.next(); piece !== undefined; piece = await this.next()) {
      sizeBytes += piece.length;
      if (sizeBytes > maxBytes) {
        const cause = new BodyTooLarge(`more than ${maxBytes} bytes`);
        this.fail('garbage', cause);
        throw new TextHttpError('garbage', 'unknown', cause);
      }
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }

  release(): void {
    this.released = true;
    this.pieces = [];
  }

  abort(): void {
    this.fail('stopped', new Error('of no more interest'));
  }

  /** The first piece of the body is the first byte; from there on only a silence counts. */
  private refresh(): void {
    if (this.begun) {
      this.timer?.refresh();
      return;
    }
    this.begun = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fail('timeout', new Error('silence')), this.limits.idleMs);
  }

  private kindOf(error: Error): TextHttpFailure {
    const code = 'code' in error ? String(error.code) : '';
    if (code === 'UND_ERR_INVALID_ARG') return 'unsendable';
    if (error instanceof ConnectFailure || this.controller === undefined) return 'unreachable';
    const unreadable = code === 'UND_ERR_HEADERS_OVERFLOW' || error.name === 'HTTPParserError';
    return unreadable && code !== 'HPE_INVALID_EOF_STATE' ? 'garbage' : 'lost';
  }

  private fail(failure: TextHttpFailure, cause: unknown): void {
    if (this.over) return;
    const sent = this.controller === undefined ? 'not_sent' : 'unknown';
    this.failure = new TextHttpError(failure, sent, cause);
    this.finish();
    this.headWaiting?.reject(this.failure);
    this.headWaiting = undefined;
    this.reader?.reject(this.failure);
    this.reader = undefined;
    this.controller?.abort(this.failure);
  }

  private finish(): void {
    this.over = true;
    clearTimeout(this.timer);
    this.watch.over(this.controller !== undefined);
  }
}
