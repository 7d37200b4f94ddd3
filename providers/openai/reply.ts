/** Reads whole answers of chat completions; the stream reader shares parts. */
import { randomUUID } from 'node:crypto';
import type {
  AssistantMessage,
  ChatChoice,
  Completion,
  FinishReason,
  ReasoningDetail,
  TokenLogprob,
  TokenUsage,
  ToolCall,
} from '../../domain/text/chat.ts';
import { count, type Fields, garbageFailure, isFields } from '../shared/textFailures.ts';
import { errorIn, failureOfError } from './errorReply.ts';

/** Takes the body of a 200 reply. Throws UpstreamFailure if it is no completion. */
export function readCompletion(body: unknown, n: number): Completion {
  const error = errorIn(body);
  if (error !== undefined) throw failureOfError(error);
  if (!isFields(body) || !Array.isArray(body.choices) || body.choices.length === 0) throw garbageFailure('no choices');
  const choices = body.choices.slice(0, n).map(readChoice);
  if (new Set(choices.map(({ index }) => index)).size !== choices.length)
    throw garbageFailure('two choices of one index');
  const usage = readUsage(body.usage);
  return {
    choices,
    usage,
    ...(typeof body.id === 'string' && body.id !== '' ? { upstreamId: body.id } : {}),
    ...(typeof body.model === 'string' && body.model !== '' ? { upstreamModel: body.model } : {}),
  };
}

function readChoice(choice: unknown, position: number): ChatChoice {
  if (!isFields(choice) || !isFields(choice.message)) throw garbageFailure('a choice without a message');
  const message = readMessage(choice.message);
  const told = finishReason(choice.finish_reason);
  if (told === 'failed') throw failureOfError(isFields(choice.error) ? choice.error : {});
  const logprobs = readLogprobs(choice.logprobs);
  return {
    index: count(choice.index) ?? position,
    message,
    finishReason: withCalls(told, message.tool_calls !== undefined),
    ...(logprobs === undefined ? {} : { logprobs }),
  };
}

function readMessage(message: Fields): AssistantMessage {
  const calls = readCalls(message);
  const reasoning = reasoningOf(message);
  const details = reasoningDetails(message.reasoning_details);
  return {
    content: textOf(message.content) ?? (typeof message.refusal === 'string' ? message.refusal : null),
    ...(typeof message.name === 'string' ? { name: message.name } : {}),
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(details === undefined ? {} : { reasoning_details: details }),
    ...(typeof message.thought_signature === 'string' ? { thought_signature: message.thought_signature } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** Content is a string, or parts whose texts are joined. */
function textOf(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return undefined;
  if (!Array.isArray(content)) throw garbageFailure('content of another shape');
  return content.map((part) => (isFields(part) && typeof part.text === 'string' ? part.text : '')).join('');
}

function readCalls(message: Fields): ToolCall[] {
  // Legacy form: one function, without an id.
  const legacy = isFields(message.function_call) ? [{ function: message.function_call }] : [];
  const calls: unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : legacy;
  return calls.map((call) => {
    if (!isFields(call) || !isFields(call.function) || typeof call.function.name !== 'string') {
      throw garbageFailure('a tool call without a function');
    }
    const { name, arguments: given } = call.function;
    const id = typeof call.id === 'string' && call.id !== '' ? call.id : newCallId();
    return { id, type: 'function', function: { name, arguments: argumentsOf(given) ?? '{}' } };
  });
}

/** Some services give no id, but a tool result needs one to name its call. */
export function newCallId(): string {
  return `call_${randomUUID().replaceAll('-', '')}`;
}

/** JSON text as the model wrote it; some services parse it first. */
export function argumentsOf(given: unknown): string | undefined {
  if (typeof given === 'string') return given;
  return isFields(given) ? JSON.stringify(given) : undefined;
}

/** vLLM sends `reasoning`. Its older versions, DeepSeek and llama.cpp send `reasoning_content`. */
export function reasoningOf(message: Fields): string | undefined {
  const told = message.reasoning_content ?? message.reasoning;
  return typeof told === 'string' && told !== '' ? told : undefined;
}

export function reasoningDetails(told: unknown): ReasoningDetail[] | undefined {
  if (!Array.isArray(told)) return undefined;
  const details = told.flatMap((each: unknown) => readDetail(each) ?? []);
  return details.length === 0 ? undefined : details;
}

const DETAIL_TEXTS = ['id', 'format', 'text', 'data'] as const;

function readDetail(told: unknown): ReasoningDetail | undefined {
  if (!isFields(told) || typeof told.type !== 'string') return undefined;
  const detail: ReasoningDetail = { type: told.type };
  if (typeof told.index === 'number') detail.index = told.index;
  for (const field of DETAIL_TEXTS) {
    const value = told[field];
    if (typeof value === 'string') detail[field] = value;
  }
  return detail;
}

const FINISH: Record<string, FinishReason | 'failed'> = {
  stop: 'stop',
  end_turn: 'stop',
  eos: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  tool_use: 'tool_calls',
  content_filter: 'content_filter',
  safety: 'content_filter',
  // The service failed: the text before it is no answer.
  error: 'failed',
  abort: 'failed',
  insufficient_system_resource: 'failed',
};

/** The nearest known reason; unknown ones count as `stop`. */
export function finishReason(told: unknown): FinishReason | 'failed' {
  return typeof told === 'string' && Object.hasOwn(FINISH, told) ? (FINISH[told] ?? 'stop') : 'stop';
}

/** With calls, `stop` becomes `tool_calls`: services say `stop` if the request named the tool. */
export function withCalls(reason: FinishReason, hasCalls: boolean): FinishReason {
  return hasCalls && reason === 'stop' ? 'tool_calls' : reason;
}

export function readLogprobs(told: unknown): TokenLogprob[] | undefined {
  if (!isFields(told) || !Array.isArray(told.content)) return undefined;
  return told.content.flatMap((each: unknown) => {
    const token = readToken(each);
    if (token === undefined || !isFields(each)) return [];
    const top = Array.isArray(each.top_logprobs) ? each.top_logprobs : [];
    return [{ ...token, top_logprobs: top.flatMap((other: unknown) => readToken(other) ?? []) }];
  });
}

function readToken(told: unknown): Omit<TokenLogprob, 'top_logprobs'> | undefined {
  if (!isFields(told) || typeof told.token !== 'string' || typeof told.logprob !== 'number') return undefined;
  const bytes = Array.isArray(told.bytes) && told.bytes.every((each) => count(each) !== undefined);
  return { token: told.token, logprob: told.logprob, bytes: bytes ? (told.bytes as number[]) : null };
}

function restOfTotal(total: unknown, promptTokens = 0): number {
  return Math.max(0, (count(total) ?? 0) - promptTokens);
}

/** Undefined: absent, or not billable numbers. */
export function readUsage(told: unknown): TokenUsage | undefined {
  if (!isFields(told)) return undefined;
  const promptTokens = count(told.prompt_tokens);
  // Embeddings and some servers omit it if no tokens were made; some servers omit it always.
  const completion = count(told.completion_tokens ?? restOfTotal(told.total_tokens, promptTokens));
  if (promptTokens === undefined || completion === undefined) return undefined;
  const prompt = isFields(told.prompt_tokens_details) ? told.prompt_tokens_details : {};
  const made = isFields(told.completion_tokens_details) ? told.completion_tokens_details : {};
  const cached = count(prompt.cached_tokens) ?? count(told.prompt_cache_hit_tokens) ?? 0;
  const written = count(prompt.cache_creation_input_tokens) ?? count(prompt.cache_write_tokens) ?? 0;
  const cachedTokens = Math.min(cached, promptTokens);
  const reasoningTokens = count(made.reasoning_tokens) ?? 0;
  // xAI counts reasoning beside the completion, as its total shows.
  const beside = reasoningTokens > 0 && told.total_tokens === promptTokens + completion + reasoningTokens;
  const completionTokens = beside ? completion + reasoningTokens : completion;
  return {
    promptTokens,
    cachedTokens,
    cacheWriteTokens: Math.min(written, promptTokens - cachedTokens),
    completionTokens,
    reasoningTokens: Math.min(reasoningTokens, completionTokens),
  };
}
