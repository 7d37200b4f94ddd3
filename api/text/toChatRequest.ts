/** Converts the body of a client to the request for a provider, with all defaults. */

import { type TextModel, upstreamNameOf } from '../../domain/catalogue/model.ts';
import type { ChatMessage, ChatRequest, FunctionTool, Sampling, TextPart, UserPart } from '../../domain/text/chat.ts';
import { retentionSecondsOf } from '../../domain/text/promptCache.ts';
import { endUserOf } from '../http/endUser.ts';
import { invalid } from '../http/invalid.ts';
import type { ChatBody, SentMessage } from './chatBody.ts';
import { isObject } from './rewriteChat.ts';

export interface ChatRequestInput {
  body: ChatBody;
  model: TextModel;
  accountId: string;
  /** Messages of the body, with their media fetched. */
  messages: ChatMessage[];
  /** Headers of an encrypted request, for the provider. */
  e2eeHeaders?: Record<string, string>;
}

export function toChatRequest({ body, model, accountId, messages, e2eeHeaders }: ChatRequestInput): ChatRequest {
  const tools = toolsOf(body);
  return {
    upstreamModel: upstreamNameOf(model),
    messages,
    sampling: samplingOf(body, model),
    n: body.n ?? 1,
    maxTokens: maxTokensOf(body, model),
    endUser: endUserOf(accountId, body.anon_user_id),
    ...(body.logprobs || body.top_logprobs != null ? { logprobs: { top: body.top_logprobs ?? 0 } } : {}),
    ...(tools.length > 0 ? { tools } : {}),
    ...toolChoiceOf(body),
    ...(body.response_format ? { responseFormat: responseFormatOf(body.response_format) } : {}),
    ...reasoningOf(body, model),
    ...verbosityOf(body),
    ...promptCacheOf(body),
    ...(model.mediaTokens && { mediaTokens: model.mediaTokens }),
    ...(body.service_parameters.enable_x_search && model.spec.capabilities?.supportsXSearch ? { xSearch: true } : {}),
    ...(e2eeHeaders && { e2eeHeaders }),
  };
}

/** Default limit of an answer; holding the whole context would refuse small balances. */
const DEFAULT_OUTPUT_TOKENS = 16_384;

/** Requested even when the prompt is estimated to fill the context: most are shorter than the estimate. */
const MIN_OUTPUT = { tokens: 1_024, shareOfContext: 1 / 8 };

/**
 * Maximum output tokens of one choice. A value of zero or less counts as absent (TEXT-5). The default is what the
 * context leaves beside the prompt, since services refuse a request whose prompt and output together do not fit.
 */
export function maxTokensOf(body: ChatBody, { spec }: TextModel, promptTokens = 0): number {
  const { availableContextTokens: context, maxCompletionTokens: most = context } = spec;
  const wished = body.max_completion_tokens ?? body.max_tokens ?? 0;
  if (wished > 0) return Math.min(wished, most);
  const least = Math.max(1, Math.min(MIN_OUTPUT.tokens, Math.floor(context * MIN_OUTPUT.shareOfContext)));
  return Math.min(most, DEFAULT_OUTPUT_TOKENS, Math.max(least, context - promptTokens));
}

function samplingOf(body: ChatBody, { spec }: TextModel): Sampling {
  const { constraints = {} } = spec;
  if (body.min_temp != null && body.max_temp != null && body.min_temp > body.max_temp) {
    throw invalid('min_temp', 'must not be above max_temp');
  }
  const stop = typeof body.stop === 'string' ? [body.stop] : body.stop;
  return withoutNulls({
    temperature: body.temperature ?? constraints.temperature?.default,
    min_temp: body.min_temp,
    max_temp: body.max_temp,
    top_p: body.top_p ?? constraints.top_p?.default,
    min_p: body.min_p,
    top_k: body.top_k,
    frequency_penalty: body.frequency_penalty ?? constraints.frequency_penalty?.default,
    presence_penalty: body.presence_penalty ?? constraints.presence_penalty?.default,
    repetition_penalty: body.repetition_penalty ?? constraints.repetition_penalty?.default,
    seed: body.seed,
    stop,
    stop_token_ids: body.stop_token_ids,
    logit_bias: body.logit_bias && Object.keys(body.logit_bias).length > 0 ? body.logit_bias : undefined,
  });
}

/** `json_schema` is the schema itself, or OpenAI's wrapper of it (TEXT-1). Services want the wrapper, with a name. */
function responseFormatOf(
  format: NonNullable<ChatBody['response_format']>,
): NonNullable<ChatRequest['responseFormat']> {
  if (format.type !== 'json_schema') return format;
  const { type, json_schema: given } = format;
  const { schema } = given;
  const isWrapper = isObject(schema) && !('type' in given) && !('properties' in given);
  return { type, json_schema: { name: SCHEMA_NAME, ...(isWrapper ? { ...given, schema } : { schema: given }) } };
}

const SCHEMA_NAME = 'answer';

function toolsOf(body: ChatBody): FunctionTool[] {
  return (body.tools ?? []).flatMap((tool) => {
    if (tool.type !== 'function') return [];
    const { strict, ...described } = tool.function;
    return [{ ...described, ...(strict == null ? {} : { strict }) }];
  });
}

function toolChoiceOf({ tool_choice: choice, parallel_tool_calls: parallel }: ChatBody) {
  return {
    ...(choice == null ? {} : { toolChoice: typeof choice === 'string' ? choice : { name: choice.function.name } }),
    ...(parallel == null ? {} : { parallelToolCalls: parallel }),
  };
}

/** `reasoning_effort` wins over `reasoning.effort`; `enabled` counts only without an effort (TEXT-6). */
function reasoningOf(body: ChatBody, { spec }: TextModel): Pick<ChatRequest, 'reasoning'> {
  const { supportsReasoning, supportsReasoningEffort, defaultReasoningEffort } = spec.capabilities ?? {};
  if (!supportsReasoning) return {};
  const { summary } = body.reasoning ?? {};
  const summaryField = summary == null ? {} : { summary };
  if (body.service_parameters.disable_thinking) return { reasoning: { enabled: false, ...summaryField } };
  const effort = body.reasoning_effort ?? body.reasoning?.effort ?? undefined;
  if (effort === 'none') return { reasoning: { enabled: false, effort, ...summaryField } };
  if (effort !== undefined && supportsReasoningEffort) return { reasoning: { enabled: true, effort, ...summaryField } };
  if (body.reasoning?.enabled === false) return { reasoning: { enabled: false, ...summaryField } };
  const usual = defaultReasoningEffort === undefined ? {} : { effort: defaultReasoningEffort };
  return { reasoning: { ...(body.reasoning?.enabled ? { enabled: true } : {}), ...usual, ...summaryField } };
}

function verbosityOf(body: ChatBody): Pick<ChatRequest, 'verbosity'> {
  const verbosity = body.verbosity ?? body.text?.verbosity;
  return verbosity == null ? {} : { verbosity };
}

function promptCacheOf(body: ChatBody): Pick<ChatRequest, 'promptCache'> {
  const { prompt_cache_key: key, prompt_cache_retention: retention } = body;
  const retentionSeconds = retention == null ? undefined : retentionSecondsOf(retention);
  if (key == null && retentionSeconds === undefined) return {};
  return {
    promptCache: {
      ...(key == null ? {} : { key }),
      ...(retentionSeconds === undefined ? {} : { retentionSeconds }),
    },
  };
}

function withoutNulls(sampling: { [Key in keyof Sampling]: Sampling[Key] | null | undefined }): Sampling {
  const result: Record<string, unknown> = {};
  for (const name in sampling) {
    const value = sampling[name as keyof Sampling];
    if (value != null) result[name] = value;
  }
  return result as Sampling;
}

/** `media` returns the parts that are not text, in their order. */
export function toMessages(sent: readonly SentMessage[], media: (part: object) => UserPart | undefined): ChatMessage[] {
  return sent.flatMap((message) => {
    const named = message.name == null ? {} : { name: message.name };
    switch (message.role) {
      case 'user':
        return [{ role: 'user', content: userContent(message.content, media), ...named }];
      case 'tool':
        return [{ role: 'tool', content: textOf(message.content), tool_call_id: message.tool_call_id, ...named }];
      case 'assistant':
        return assistantOf(message, named);
      default:
        return [{ role: message.role, content: said(message.content as string | TextPart[]), ...named }];
    }
  });
}

function textOf(content: MessageOfRole<'tool'>['content']): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('');
}

type MessageOfRole<Role extends SentMessage['role']> = Extract<SentMessage, { role: Role }>;

function userContent(
  content: MessageOfRole<'user'>['content'],
  media: (part: object) => UserPart | undefined,
): string | UserPart[] {
  if (typeof content === 'string') return content;
  return said(content.flatMap((part) => (part.type === 'text' ? [part as TextPart] : (media(part) ?? []))));
}

/** Services refuse an empty list of parts, and accept the empty text that it stands for. */
function said<Part>(content: string | Part[]): string | Part[] {
  return content.length === 0 ? '' : content;
}

/** Drops a message without content and without calls (TEXT-7). */
function assistantOf(message: MessageOfRole<'assistant'>, named: { name?: string }): ChatMessage[] {
  const { reasoning_content, reasoning_details, thought_signature, tool_calls } = message;
  const content = Array.isArray(message.content) && message.content.length === 0 ? null : message.content;
  const calls = tool_calls ?? [];
  if (!content && calls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: (content ?? null) as string | TextPart[] | null,
      ...named,
      ...(reasoning_content == null ? {} : { reasoning_content }),
      ...(reasoning_details == null ? {} : { reasoning_details: reasoning_details.map(withoutNull) }),
      ...(thought_signature == null ? {} : { thought_signature }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ];
}

function withoutNull<T extends object>(detail: T): { [Key in keyof T]: NonNullable<T[Key]> } {
  return Object.fromEntries(Object.entries(detail).filter(([, value]) => value != null)) as {
    [Key in keyof T]: NonNullable<T[Key]>;
  };
}
