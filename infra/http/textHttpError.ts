import { ProviderHttpError } from './providerHttp.ts';

export type TextHttpFailure =
  /** No connection came about. */
  | 'unreachable'
  /** No answer, or no more of it, in time. */
  | 'timeout'
  /**
   * The connection broke. On a kept one that the service is just closing, nobody knows how far the request got, so this
   * is never taken for "not sent".
   */
  | 'lost'
  /** What came is no HTTP, or more than the cap. */
  | 'garbage'
  /** A header of the call is none that HTTP can carry: the caller's fault, and not the service's. */
  | 'unsendable'
  /** The caller's signal. */
  | 'stopped';

const WORDS: Record<TextHttpFailure, string> = {
  unreachable: 'not reached',
  timeout: 'no answer in time',
  lost: 'the connection broke',
  garbage: 'the answer is no usable HTTP',
  unsendable: 'no such request can be sent',
  stopped: 'given up by the caller',
};

export class TextHttpError extends ProviderHttpError {
  readonly failure: TextHttpFailure;

  constructor(failure: TextHttpFailure, sent: ProviderHttpError['sent'], cause: unknown) {
    super(sent, WORDS[failure], cause);
    this.name = 'TextHttpError';
    this.failure = failure;
  }
}

/** The body of an answer, read by one reader. What it has not taken yet is kept, up to the cap of the answer. */
export interface TextBody {
  /** What has come since, as one piece; undefined at the end. */
  next(): Promise<Buffer | undefined>;
  /** The rest of it; more than `maxBytes` ends in a failure of kind `garbage`. */
  whole(maxBytes: number): Promise<Buffer>;
  /** The rest is of no interest, and the connection may be used again when it has passed. */
  release(): void;
  /** Ends the connection. */
  abort(): void;
}
