/** Items of a response in the public form (TEXT-25). */
import type { FinishReason, ReasoningDetail, TokenUsage } from '../../../domain/text/chat.ts';
import type { AnswerHeading, Citation } from '../present.ts';

export type ItemStatus = 'completed' | 'in_progress';

export interface Annotation {
  type: 'url_citation';
  url: string;
  title: string;
  /** Offset in UTF-16 units of the text. */
  start_index: number;
  end_index: number;
}

export function reasoningItem(id: string, text: string, sealed: string | undefined) {
  const encrypted = sealed === undefined ? {} : { encrypted_content: sealed };
  return { type: 'reasoning' as const, id, summary: text === '' ? [] : [text], ...encrypted };
}

export function textPart(text: string, annotations: readonly Annotation[] = []) {
  return { type: 'output_text' as const, text, annotations };
}

export function messageItem(id: string, content: readonly object[], status: ItemStatus) {
  return { type: 'message' as const, id, status, role: 'assistant' as const, content };
}

export interface FunctionCall {
  id: string;
  callId: string;
  name: string;
  arguments: string;
}

export function callItem({ id, callId, name, arguments: text }: FunctionCall, status: ItemStatus) {
  return { type: 'function_call' as const, id, call_id: callId, name, arguments: text, status };
}

/** Encrypted reasoning of the service as one opaque text; undefined when there is none. */
export function encodeSealedReasoning(details: readonly ReasoningDetail[]): string | undefined {
  const sealed = details.filter(({ data }) => data !== undefined);
  return sealed.length === 0 ? undefined : Buffer.from(JSON.stringify(sealed)).toString('base64');
}

const CUT: Partial<Record<FinishReason, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

/** Reason why the answer is incomplete; undefined when it is complete. */
export function incompleteReason(reason: FinishReason | undefined): string | undefined {
  return reason && CUT[reason];
}

export interface ResponseContents {
  status: 'completed' | 'incomplete' | 'in_progress' | 'failed';
  output: readonly object[];
  usage?: TokenUsage;
  /** Reason of an incomplete response. */
  reason?: string | undefined;
  error?: { code: string; message: string };
}

export function presentResponse({ id, created, model }: AnswerHeading, contents: ResponseContents) {
  const { status, output, usage, reason, error } = contents;
  return {
    ...{ id: `resp_${id}`, object: 'response' as const, created_at: created, model, status },
    ...(reason === undefined ? {} : { incomplete_details: { reason } }),
    ...(error === undefined ? {} : { error }),
    output,
    ...(usage === undefined ? {} : { usage: presentUsage(usage) }),
  };
}

function presentUsage(usage: TokenUsage) {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens },
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.promptTokens + usage.completionTokens,
  };
}

/** Citations of search results: `^1^`, `^1,3^` (TEXT-25). */
export function annotationsOf(text: string, citations: readonly Citation[]): Annotation[] {
  if (citations.length === 0) return [];
  return [...text.matchAll(/\^(\d+(?:,\d+)*)\^/g)].flatMap(({ 0: mark, 1: numbers = '', index }) =>
    numbers.split(',').flatMap((number) => {
      const found = citations[Number(number) - 1];
      if (!found) return [];
      const { url, title } = found;
      return [{ type: 'url_citation' as const, url, title, start_index: index, end_index: index + mark.length }];
    }),
  );
}
