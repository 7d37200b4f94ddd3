/** A row of the table of provider outcomes: what the service does, and what the client, the books and the store see of it. */
import type { JobState } from '../../../domain/jobs.ts';
import type { FalStub } from '../../stubs/fal/fal.ts';

export type OrderKind = 'audio' | 'video';

/** A service of its own for each row, so that rows may run at the same time. */
export interface RowService {
  /** Its entry among the providers of the configuration. */
  entry: object;
  upstreamModel: string;
  /** Where its outputs are, when that is not its own address: `host:port`. */
  allowedHost?: string;
  /** Orders that it took in, whatever became of the reply. */
  accepted(): number;
  /** Requests to take an order in. */
  asked(): number;
  /** Where a test has more to say to a fal than its row does. */
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
  /** How many orders the service takes in; never more than one. */
  accepted: 0 | 1;
  /** How often it is asked to take one in, at most. */
  mostAsked: number;
  /** In long runs only: a row of another service goes the same way through our code. */
  seldom?: true;
}

export type Ending =
  /** The client is sent exactly these bytes, and the charge stands. */
  | { state: 'stored'; bytes: Buffer; contentType: string }
  /** The client reads this each time it asks, and the charge is given back. */
  | { state: Extract<JobState, 'failed' | 'timed_out'>; status: number; body: object };

export type RowOptions = Partial<Pick<OutcomeRow, 'kind' | 'prompt' | 'accepted' | 'mostAsked'>>;

/** What is said in the same words wherever it comes from; the refund is in the books before. */
function ended(status: number, error: string): Ending {
  return { state: 'failed', status, body: { error, credits_refunded: true } };
}

/** The client's order was at fault. */
export const wrong = (words: string) => ended(400, words);
export const failed = (words: string) => ended(500, words);
/** Our account or our configuration at the service is at fault, which is none of the client's business. */
export const OFFLINE = ended(503, 'The model is not available at the moment.');

export const TIMED_OUT: Ending = {
  state: 'timed_out',
  status: 504,
  body: { error: 'The job did not finish in time.', credits_refunded: true },
};

/** The reply to the order was lost or unreadable, and the service cannot be asked for it by our reference. */
export const LOST = ended(500, "The provider's reply was lost, and it cannot be asked what became of the job.");

export function refusedPrompt(words: string, suggestion?: string): Ending {
  const proposal = suggestion === undefined ? {} : { suggested_prompt: suggestion };
  return { state: 'failed', status: 422, body: { error: words, ...proposal } };
}

/** The model of another service that the configuration of the table has for the same task. */
export const RECOMMENDED = 'recommended-film';

export function refusedFilm(message: string): Ending {
  const type = 'provider_content_policy';
  const error = { message, type, credits_refunded: true, recommended_model: RECOMMENDED };
  return { state: 'failed', status: 422, body: { error } };
}

/** More than any row comes to ask. */
export function always<T>(value: T): T[] {
  return Array.from({ length: 1_000 }, () => value);
}
