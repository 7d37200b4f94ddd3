/** Chat completion in the public form (TEXT-16, TEXT-20). */
import type { LedgerPrice } from '../../domain/ledger.ts';
import { nanoToNumber } from '../../domain/money.ts';
import type { ChatChoice, ChatDelta, TokenLogprob, TokenUsage } from '../../domain/text/chat.ts';
import { withoutThinking } from '../../domain/text/thinking.ts';
import type { ServiceParameters } from './chatBody.ts';

export interface AnswerHeading {
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
}

export interface Citation {
  title: string;
  url: string;
  content?: string;
  date?: string;
}

export function presentUsage(usage: TokenUsage) {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cachedTokens,
      cache_creation_input_tokens: usage.cacheWriteTokens,
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

export function presentCost({ usd, diem }: LedgerPrice) {
  return { usd: nanoToNumber(usd), diem: nanoToNumber(diem) };
}

/** Whether reasoning is removed from the answer. */
export function isStripped(parameters: ServiceParameters): boolean {
  return parameters.strip_thinking_response || parameters.disable_thinking;
}

export function presentChoice(choice: ChatChoice, stripped: boolean) {
  const { content, name, reasoning_content, reasoning_details, thought_signature, tool_calls } = choice.message;
  const hasCalls = tool_calls !== undefined && tool_calls.length > 0;
  // A call that was cut at the token limit stays cut.
  const finished = hasCalls && choice.finishReason === 'stop' ? 'tool_calls' : choice.finishReason;
  return {
    index: choice.index,
    finish_reason: finished,
    stop_reason: finished === 'stop' || finished === 'length' ? finished : null,
    logprobs: choice.logprobs ? presentLogprobs(choice.logprobs) : null,
    message: {
      role: 'assistant' as const,
      content: stripped && content !== null ? withoutThinking(content) : content,
      name: name ?? null,
      reasoning_content: stripped ? null : (reasoning_content ?? null),
      ...(stripped || !reasoning_details ? {} : { reasoning_details }),
      ...(thought_signature === undefined ? {} : { thought_signature }),
      ...(hasCalls ? { tool_calls } : {}),
    },
  };
}

/** Most clients read the list; the members of the first token stand beside it (TEXT-18). */
export function presentLogprobs(logprobs: readonly TokenLogprob[]) {
  return { content: logprobs, refusal: null, ...logprobs[0] };
}

export function presentParameters(parameters: ServiceParameters, citations: readonly Citation[]) {
  const added = { enable_e2ee: parameters.enable_e2ee ?? true, web_search_citations: citations };
  return Object.assign({ ...parameters }, added);
}

export function presentDelta(delta: ChatDelta) {
  const { tool_calls, ...rest } = delta;
  if (!tool_calls) return rest;
  const calls = tool_calls.map(({ index, id, name, arguments: text }) => ({
    index,
    ...(id === undefined ? {} : { id, type: 'function' as const }),
    function: { ...(name === undefined ? {} : { name }), arguments: text ?? '' },
  }));
  return { ...rest, tool_calls: calls };
}
