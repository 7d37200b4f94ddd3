import { BodyTooLarge } from './saveBody.ts';

export type ServiceHttpFailure =
  /** The body of the request could not be read. */
  | 'unprepared'
  /** No connection came about. */
  | 'unreachable'
  /** No answer, or no more of it, in time. */
  | 'timeout'
  /**
   * The connection broke. On a kept one that the service is just closing, nobody knows how far the request got, so this
   * is never taken for "not sent".
   */
  | 'lost'
  /** Bytes that are no HTTP, or more than the cap. */
  | 'garbage'
  /** A header of the call is none that HTTP can carry: the caller's fault, and not the service's. */
  | 'unsendable'
  /** The caller's signal. */
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

  /** The service was silent for too long, by a clock of this client or by a deadline of the caller. */
  get isLate(): boolean {
    if (this.failure === 'timeout') return true;
    return this.failure === 'stopped' && this.cause instanceof Error && this.cause.name === 'TimeoutError';
  }
}
