/** Form of an answer: a chat completion, or a response. */
import type { ChatEvent, Completion } from '../../domain/text/chat.ts';
import type { Attempts } from './chatAttempts.ts';
import type { ChatCall } from './chatCall.ts';
import type { Settled } from './modelCall.ts';
import type { Heading } from './present.ts';

export interface Made {
  heading: Heading;
  /** Request of the model, and the lookups before it. */
  call: Pick<ChatCall, 'webResults' | 'request'>;
  completion: Completion;
  settled: Settled;
}

export interface AnswerForm {
  /** Selects the models that can answer in this form. Throws FareboxError when the first cannot. */
  choose(attempts: Attempts): Attempts;
  /** A JSON body. */
  whole(made: Made): object;
  stream(opened: Pick<Made, 'heading' | 'call'>): StreamForm;
  /** The end of a stream has the balance of the account. */
  tellsBalance: boolean;
}

/** Every result is the text of whole server-sent events; empty where there is nothing to send. */
export interface StreamForm {
  /** Text before the first event. */
  begin(): string;
  write(batch: readonly ChatEvent[]): string;
  /** Text after the bill. */
  end(settled: Settled, after: { balance?: object }): string;
  /** Text after an error of the upstream; what came until then is billed. */
  failed(error: unknown, settled: Settled): string;
}
