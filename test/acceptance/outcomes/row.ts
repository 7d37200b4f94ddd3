/** Row of the table of provider outcomes: the service's behaviour, and its effect on client, ledger and bucket. */
import type { JobState } from '../../../domain/jobs.ts';
import type { FalStub } from '../../stubs/fal/fal.ts';

export type OrderKind = 'audio' | 'video';

/** Each row has its own service, so that rows can run at once. */
export interface RowService {
  /** Provider entry in the configuration. */
  entry: object;
  upstreamModel: string;
  /** `host:port` of its outputs if they are elsewhere. */
  allowedHost?: string;
  /** Number of accepted orders, whatever became of the reply. */
  accepted(): number;
  /** Number of submission requests. */
  asked(): number;
  /** The fal stub, for tests that control more than their row does. */
  fal?: FalStub;
  close(): Promise<void>;
}

export interface OutcomeRow {
  /** Completes "a service that …". */
  when: string;
  service: 'fal' | 'replicate' | 'elevenlabs';
  kind: OrderKind;
  prompt: string;
  start(): Promise<RowService>;
  end: Ending;
  /** Number of orders that the service accepts. */
  accepted: 0 | 1;
  /** Maximum number of submission requests. */
  mostAsked: number;
  /** Runs in long mode only, because a row of another service covers the same code. */
  seldom?: true;
}

export type Ending =
  /** The client gets exactly these bytes, and the charge stays. */
  | { state: 'stored'; bytes: Buffer; contentType: string }
  /** The client gets this answer each time, and the charge is refunded. */
  | { state: Extract<JobState, 'failed' | 'timed_out'>; status: number; body: object };

export type RowOptions = Partial<Pick<OutcomeRow, 'kind' | 'prompt' | 'accepted' | 'mostAsked'>>;

/** Error with the same text from every cause. The refund is booked before. */
function ended(status: number, error: string): Ending {
  return { state: 'failed', status, body: { error, credits_refunded: true } };
}

/** Error caused by the client's order. */
export const wrong = (words: string) => ended(400, words);
export const failed = (words: string) => ended(500, words);
/** Error of our account or configuration at the service, of which the client sees no details. */
export const OFFLINE = ended(503, 'The model is not available at the moment.');

export const TIMED_OUT: Ending = {
  state: 'timed_out',
  status: 504,
  body: { error: 'The job did not finish in time.', credits_refunded: true },
};

/** The reply to the order was lost or unreadable, and the service has no lookup by our reference. */
export const LOST = ended(500, "The provider's reply was lost, and it cannot be asked what became of the job.");

export function refusedPrompt(words: string, suggestion?: string): Ending {
  const proposal = suggestion === undefined ? {} : { suggested_prompt: suggestion };
  return { state: 'failed', status: 422, body: { error: words, ...proposal } };
}

/** Model of another service for the same task in this configuration. */
export const RECOMMENDED = 'recommended-film';

export function refusedFilm(message: string): Ending {
  const type = 'provider_content_policy';
  const error = { message, type, credits_refunded: true, recommended_model: RECOMMENDED };
  return { state: 'failed', status: 422, body: { error } };
}

/** More repetitions than any row uses. */
export function always<T>(value: T): T[] {
  return Array.from({ length: 1_000 }, () => value);
}
