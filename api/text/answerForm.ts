/** Form of an answer: a chat completion, or a response. */
import type { ChatEvent, Completion } from '../../domain/text/chat.ts';
import type { ChatAttempts } from './chatAttempts.ts';
import type { ChatCall } from './chatCall.ts';
import type { CallBill } from './modelCall.ts';
import type { AnswerHeading } from './present.ts';

export interface CompletedAnswer {
  heading: AnswerHeading;
  /** Request of the model, and the lookups before it. */
  call: Pick<ChatCall, 'webResults' | 'request'>;
  completion: Completion;
  settled: CallBill;
}

export interface AnswerForm {
  /** Selects the models that can answer in this form. Throws FareboxError when the first cannot. */
  choose(attempts: ChatAttempts): ChatAttempts;
  /** A JSON body. */
  whole(made: CompletedAnswer): object;
  stream(opened: Pick<CompletedAnswer, 'heading' | 'call'>): StreamForm;
  /** The end of a stream has the balance of the account. */
  tellsBalance: boolean;
}

/** Every result is the text of whole server-sent events; empty where there is nothing to send. */
export interface StreamForm {
  /** Text before the first event. */
  begin(): string;
  write(batch: readonly ChatEvent[]): string;
  /** Text after the bill. */
  end(settled: CallBill, after: { balance?: object }): string;
  /** Text after an error of the upstream; what came until then is billed. */
  failed(error: unknown, settled: CallBill): string;
}
