/** Answer in the form of a response (TEXT-25). */
import { FareboxError } from '../../../domain/errors.ts';
import type { AnswerForm, CompletedAnswer } from '../answerForm.ts';
import type { ChatAttempt, ChatAttempts } from '../chatAttempts.ts';
import type { Citation } from '../present.ts';
import {
  annotationsOf,
  callItem,
  encodeSealedReasoning,
  type ItemStatus,
  incompleteReason,
  messageItem,
  presentResponse,
  reasoningItem,
  textPart,
} from './items.ts';
import { ResponseWriter } from './responseWriter.ts';
import type { ResponsesOrder } from './toChatBody.ts';

export function responseForm(order: ResponsesOrder): AnswerForm {
  const { sealedReasoning } = order;
  return {
    choose: (attempts) => choose(attempts, order),
    whole: (made) => whole(made, sealedReasoning),
    stream: ({ heading, call }) => new ResponseWriter({ heading, citations: citationsOf(call), sealedReasoning }),
    tellsBalance: false,
  };
}

function citationsOf({ webResults }: CompletedAnswer['call']): readonly Citation[] {
  return webResults?.citations ?? [];
}

/** This form has no fields for an end-to-end encrypted answer. */
function choose(attempts: ChatAttempts, { service_parameters: wanted }: ResponsesOrder): ChatAttempts {
  if (wanted.enable_e2ee === false) return attempts;
  const sealed = ({ model }: ChatAttempt) => model.spec.capabilities?.supportsE2EE === true;
  const [first, ...others] = attempts;
  if (!sealed(first)) return [first, ...others.filter((attempt) => !sealed(attempt))];
  const message = `${first.model.id} is end-to-end encrypted: use /chat/completions, or enable_e2ee false`;
  throw new FareboxError({ code: 'unsupported_feature', message, fields: { model: [message] } });
}

/** In the published order: reasoning, search, calls, message. */
function whole({ heading, call, completion, settled }: CompletedAnswer, sealedReasoning: boolean): object {
  const citations = citationsOf(call);
  const [choice] = completion.choices;
  const {
    content,
    reasoning_content: thought = '',
    reasoning_details = [],
    tool_calls = [],
  } = choice?.message ?? {
    content: null,
  };
  const reason = incompleteReason(choice?.finishReason);
  const last: ItemStatus = reason === undefined ? 'completed' : 'in_progress';
  const sealed = sealedReasoning ? encodeSealedReasoning(reasoning_details) : undefined;
  const says = (content ?? '') !== '';
  const output: object[] = [];
  if (thought !== '' || sealed !== undefined) output.push(reasoningItem(`rs_${heading.id}`, thought, sealed));
  if (citations.length > 0) {
    output.push({ type: 'web_search_call', id: `ws_${heading.id}`, status: 'completed' });
  }
  for (const [at, { id, function: called }] of tool_calls.entries()) {
    const status = at === tool_calls.length - 1 ? last : 'completed';
    output.push(callItem({ id: `fc_${heading.id}_${at}`, callId: id, ...called }, status));
  }
  if (says || output.length === 0) {
    const text = content ?? '';
    const status = tool_calls.length === 0 ? last : 'completed';
    output.push(messageItem(`msg_${heading.id}`, [textPart(text, annotationsOf(text, citations))], status));
  }
  const status = reason === undefined ? 'completed' : 'incomplete';
  return presentResponse(heading, { status, output, usage: settled.usage, reason });
}
