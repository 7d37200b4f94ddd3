import { BodyTooLarge } from './saveBody.ts';

export type ServiceHttpFailure =
  /** The body of the request could not be read. */
  | 'unprepared'
  /** No connection was established. */
  | 'unreachable'
  /** No answer, or no further part of it, in time. */
  | 'timeout'
  /**
   * The connection broke. On a kept one that the service just closes, nobody knows how far the request got, so this is
   * never treated as "not sent".
   */
  | 'lost'
  /** Invalid HTTP, or more bytes than the limit. */
  | 'garbage'
  /** HTTP cannot carry a header of the call: a fault of the caller, not the service. */
  | 'unsendable'
  /** Stopped by the caller's signal. */
  | 'stopped';

const WORDS: Record<ServiceHttpFailure, string> = {
  unprepared: 'the request could not be prepared',
  unreachable: 'not reached',
  timeout: 'no answer in time',
  lost: 'the connection broke',
  garbage: 'the answer is no usable HTTP',
  unsendable: 'no such request can be sent',
  stopped: 'given up by the caller',
};

/** `not_sent`: certainly no byte of the request reached the service. `unknown`: it may have been accepted. */
export class ServiceHttpError extends Error {
  readonly failure: ServiceHttpFailure;
  readonly sent: 'not_sent' | 'unknown';

  constructor(failure: ServiceHttpFailure, sent: ServiceHttpError['sent'], cause: unknown) {
    super(cause instanceof BodyTooLarge ? 'the answer is too large' : WORDS[failure], { cause });
    this.name = 'ServiceHttpError';
    this.failure = failure;
    this.sent = sent;
  }

  get isTooLarge(): boolean {
    return this.cause instanceof BodyTooLarge;
  }

  /** The service was silent for too long, by a timer of this client or a deadline of the caller. */
  get isLate(): boolean {
    if (this.failure === 'timeout') return true;
    return this.failure === 'stopped' && this.cause instanceof Error && this.cause.name === 'TimeoutError';
  }
}
