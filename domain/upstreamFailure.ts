/** Why an upstream did not answer a synchronous call, in the words that decide what happens next. */
export type UpstreamFailureReason =
  /** The request itself is wrong for the service: the client's to mend. */
  | 'refused'
  /** The prompt is longer than the context of the model: another one may have room for it. */
  | 'context_length'
  | 'content_policy'
  /** Too many requests or tokens: `retryAfterMs` where the service says so. */
  | 'rate_limited'
  | 'overloaded'
  /** Our credential was not accepted or our account there is empty: the operator's to mend. */
  | 'credential'
  /** It does not have the model: the operator's to mend. */
  | 'no_model'
  /** It answered that it failed. */
  | 'failed'
  /** It answered what is no answer: HTML, a cut body, another shape. */
  | 'garbage'
  /** No connection: nothing was sent. */
  | 'unreachable'
  /** No answer, or no more of it, in time. */
  | 'timeout'
  /** The connection broke after the request was sent. */
  | 'lost';

interface UpstreamFailureParameters {
  reason: UpstreamFailureReason;
  /** For the log: status, type and code of the reply; never prompts, never secrets. */
  detail: string;
  /** The service's own words to the client, where the request is at fault (`refused`, `content_policy`). */
  message?: string | undefined;
  /** What the service asks to wait. */
  retryAfterMs?: number | undefined;
  status?: number | undefined;
  cause?: unknown;
}

/** Thrown by providers. A stream that breaks throws it after the events that came before. */
export class UpstreamFailure extends Error {
  readonly reason: UpstreamFailureReason;
  readonly words: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly status: number | undefined;

  constructor({ reason, detail, message, retryAfterMs, status, cause }: UpstreamFailureParameters) {
    super(detail, cause === undefined ? undefined : { cause });
    this.name = 'UpstreamFailure';
    this.reason = reason;
    this.words = message;
    this.retryAfterMs = retryAfterMs;
    this.status = status;
  }
}
