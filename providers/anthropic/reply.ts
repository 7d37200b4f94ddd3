/** Reads whole answers of the Messages API; the stream reader shares parts. */
import type {
  AssistantMessage,
  Completion,
  FinishReason,
  ReasoningDetail,
  TokenUsage,
  ToolCall,
} from '../../domain/text/chat.ts';
import { count, type Fields, garbageFailure, isFields } from '../shared/textFailures.ts';
import { failureOfError } from './errorReply.ts';
import { sealedThought, thinkingDetail } from './thinking.ts';

export function readMessage(body: unknown): Completion {
  if (isFields(body) && body.type === 'error') throw failureOfError(body);
  if (!isFields(body) || body.type !== 'message' || !Array.isArray(body.content)) throw garbageFailure('no message');
  const usage = isFields(body.usage) ? readUsage(body.usage) : undefined;
  const message = readContent(body.content);
  return {
    choices: [{ index: 0, message, finishReason: finishReason(body.stop_reason) }],
    usage,
    ...(typeof body.id === 'string' && body.id !== '' ? { upstreamId: body.id } : {}),
    ...(typeof body.model === 'string' && body.model !== '' ? { upstreamModel: body.model } : {}),
  };
}

function readContent(content: readonly unknown[]): AssistantMessage {
  let text: string | null = null;
  const calls: ToolCall[] = [];
  const details: ReasoningDetail[] = [];
  for (const [index, block] of content.entries()) {
    if (!isFields(block)) throw garbageFailure('a block that is no object');
    if (block.type === 'text' && typeof block.text === 'string') text = (text ?? '') + block.text;
    else if (block.type === 'tool_use') calls.push(readCall(block));
    else if (block.type === 'thinking')
      details.push(thinkingDetail(index, textIn(block.thinking), textIn(block.signature)));
    else if (block.type === 'redacted_thinking') details.push(sealedThought(index, textIn(block.data)));
  }
  const thinking = details.map((each) => each.text ?? '').join('');
  const [only] = details;
  const message: AssistantMessage = { content: text };
  if (thinking !== '') message.reasoning_content = thinking;
  if (details.length > 0) message.reasoning_details = details;
  if (details.length === 1 && only?.type === 'thinking' && only.data) message.thought_signature = only.data;
  if (calls.length > 0) message.tool_calls = calls;
  return message;
}

function readCall({ id, name, input }: Fields): ToolCall {
  if (typeof id !== 'string' || typeof name !== 'string') throw garbageFailure('a tool call without a name');
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } };
}

export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

const FINISH: Record<string, FinishReason> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

export function finishReason(told: unknown): FinishReason {
  return typeof told === 'string' && Object.hasOwn(FINISH, told) ? (FINISH[told] ?? 'stop') : 'stop';
}

/** The service counts cache reads and writes beside the prompt; `promptTokens` is the sum. */
export function readUsage(told: Fields, earlier?: TokenUsage): TokenUsage | undefined {
  const cachedTokens = count(told.cache_read_input_tokens) ?? earlier?.cachedTokens ?? 0;
  const cacheWriteTokens = count(told.cache_creation_input_tokens) ?? earlier?.cacheWriteTokens ?? 0;
  const ofWrites = isFields(told.cache_creation) ? told.cache_creation : {};
  const forHour = count(ofWrites.ephemeral_1h_input_tokens) ?? earlier?.hourCacheWriteTokens ?? 0;
  const besides = earlier && earlier.promptTokens - earlier.cachedTokens - earlier.cacheWriteTokens;
  const fresh = count(told.input_tokens) ?? besides;
  const completionTokens = count(told.output_tokens);
  if (fresh === undefined || completionTokens === undefined) return undefined;
  const details = isFields(told.output_tokens_details) ? told.output_tokens_details : {};
  return {
    promptTokens: fresh + cachedTokens + cacheWriteTokens,
    cachedTokens,
    cacheWriteTokens,
    ...(forHour > 0 ? { hourCacheWriteTokens: Math.min(forHour, cacheWriteTokens) } : {}),
    completionTokens,
    reasoningTokens: Math.min(count(details.thinking_tokens) ?? 0, completionTokens),
  };
}
