/** How what a model said is written down for the client: as a chat completion, or as a response. */
import type { ChatEvent, Completion } from '../../domain/text/chat.ts';
import type { Attempts } from './chatAttempts.ts';
import type { ChatCall } from './chatCall.ts';
import type { Settled } from './modelCall.ts';
import type { Heading } from './present.ts';

export interface Made {
  heading: Heading;
  /** What the model was asked, and what was looked up before. */
  call: Pick<ChatCall, 'webResults' | 'request'>;
  completion: Completion;
  settled: Settled;
}

export interface AnswerForm {
  /** Of the models that may answer those that can in this form. Throws FareboxError when the first cannot. */
  choose(attempts: Attempts): Attempts;
  /** A JSON body. */
  whole(made: Made): object;
  stream(opened: Pick<Made, 'heading' | 'call'>): StreamForm;
  /** The end of a stream tells the account's balance. */
  tellsBalance: boolean;
}

/** Every answer is the text of whole server-sent events; empty where there is nothing to say. */
export interface StreamForm {
  /** Before anything came. */
  begin(): string;
  write(batch: readonly ChatEvent[]): string;
  /** Once the bill stands. */
  end(settled: Settled, after: { balance?: object }): string;
  /** The upstream broke off; what came until then is billed. */
  failed(error: unknown, settled: Settled): string;
}
