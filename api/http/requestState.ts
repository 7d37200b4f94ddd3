/** State of a request from its first byte to the end of its answer: Koa's `ctx.state`, declared once. */
import type Koa from 'koa';
import type { Caller } from '../../domain/caller.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { Logger } from '../../infra/log.ts';
import { timeOrderedHex } from '../../infra/timeOrderedId.ts';

export class RequestState {
  /** 32 hex characters; also the trace id. */
  readonly requestId = timeOrderedHex();
  readonly startedAt = performance.now();
  /** Part of that time that was spent waiting for the client's body and for upstreams. */
  waitedMs = 0;
  /** Time at which the answer was ready. */
  answeredAt: number | undefined = undefined;
  /** The route's pattern, never the URL. */
  route = 'none';
  caller: Caller | undefined = undefined;
  /** Why the answer is an error, for the log. */
  errorCode: ErrorCode | undefined = undefined;
  readonly #log: Logger;
  #child: Logger | undefined = undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Created on first use: most requests log one line, at their end (bench `front`). */
  get log(): Logger {
    this.#child ??= this.#log.child({ requestId: this.requestId });
    return this.#child;
  }
}

export type ApiContext = Koa.ParameterizedContext<RequestState>;
