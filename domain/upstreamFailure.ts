/** Reasons why an upstream did not answer a synchronous call; they decide the next step. */
export type UpstreamFailureReason =
  /** The request is invalid for the service; the client must change it. */
  | 'refused'
  /** The prompt exceeds the context of the model; another model may have room. */
  | 'context_length'
  | 'content_policy'
  /** Too many requests or tokens; has `retryAfterMs` if the service states it. */
  | 'rate_limited'
  | 'overloaded'
  /** Our credential was refused or our account is empty; the operator must act. */
  | 'credential'
  /** Unknown model; the operator must act. */
  | 'no_model'
  /** The service reported a failure of its own. */
  | 'failed'
  /** Invalid answer: HTML, a cut body, another shape. */
  | 'garbage'
  /** No connection: nothing was sent. */
  | 'unreachable'
  /** No answer, or no further part of it, in time. */
  | 'timeout'
  /** The connection broke after the request was sent. */
  | 'lost';

interface UpstreamFailureParameters {
  reason: UpstreamFailureReason;
  /** For the log: status, type and code of the reply; never prompts, never secrets. */
  detail: string;
  /** The service's message for the client, if the request is at fault (`refused`, `content_policy`). */
  message?: string | undefined;
  /** Wait that the service requests. */
  retryAfterMs?: number | undefined;
  status?: number | undefined;
  cause?: unknown;
}

/** Thrown by providers. A broken stream throws it after its events. */
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
