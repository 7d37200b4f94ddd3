/**
 * How many tokens a prompt can come to, before any service has counted it: what is held for it. On the high side: what a
 * prompt costs beyond its hold is nobody's bill but ours.
 */
import type { ChatMessage, ChatRequest, MediaPart, TextPart, UserPart } from './chat.ts';
import { COST, stepFrom, TOKEN } from './tokenSteps.ts';

/** What services add around each message. */
export const TOKENS_PER_MESSAGE = 8;
/** Of the largest sizes that services cut a picture to. */
const PER_IMAGE = 2_000;
/** A compressed second of sound is 4 kB or more and 32 tokens at most; of a film a second is 258 tokens and 100 kB. */
const BYTES_PER_TOKEN = { audio: 100, video: 250 };

/**
 * Tokens of a text, rounded up: no fewer than are in it, of prose in Latin script up to twice as many. A few words of
 * nonsense in small letters can have more: they look like words, and are in no vocabulary.
 */
export function estimateTokens(text: string): number {
  let cost = 0;
  let step = 0;
  for (let at = 0; at < text.length; at += 1) {
    step = stepFrom(step, text.charCodeAt(at));
    cost += step & COST;
  }
  return Math.ceil(cost / TOKEN);
}

/** As much of the beginning of a text as comes to so many tokens at most, by the same estimate. */
export function cutToTokens(text: string, tokens: number): string {
  const most = tokens * TOKEN;
  let cost = 0;
  let step = 0;
  for (let at = 0; at < text.length; at += 1) {
    step = stepFrom(step, text.charCodeAt(at));
    cost += step & COST;
    if (cost > most) return text.slice(0, isLowSurrogate(text.charCodeAt(at)) ? at - 1 : at);
  }
  return text;
}

/** The second half of a letter that takes two. */
function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

type Prompt = Pick<ChatRequest, 'messages' | 'tools' | 'responseFormat'>;

export function promptTokensOf({ messages, tools, responseFormat }: Prompt): number {
  let tokens = TOKENS_PER_MESSAGE;
  for (const message of messages) tokens += TOKENS_PER_MESSAGE + tokensOf(message);
  if (tools) tokens += estimateTokens(JSON.stringify(tools));
  if (responseFormat?.type === 'json_schema') tokens += estimateTokens(JSON.stringify(responseFormat));
  return tokens;
}

function tokensOf(message: ChatMessage): number {
  let tokens = message.name === undefined ? 0 : estimateTokens(message.name);
  if (typeof message.content === 'string') tokens += estimateTokens(message.content);
  else for (const part of message.content ?? []) tokens += tokensOfPart(part);
  if (message.role !== 'assistant') return tokens;
  tokens += estimateTokens(message.reasoning_content ?? '');
  for (const call of message.tool_calls ?? []) {
    tokens +=
      TOKENS_PER_MESSAGE + estimateTokens(call.function.name) + estimateTokens(call.function.arguments);
  }
  return tokens;
}

function tokensOfPart(part: TextPart | UserPart): number {
  return part.type === 'text' ? estimateTokens(part.text) : tokensOfMedia(part);
}

/** What a service counts for it is known to that service only. */
export function tokensOfMedia({ type, bytes }: Pick<MediaPart, 'type' | 'bytes'>): number {
  return type === 'image' ? PER_IMAGE : Math.ceil(bytes.length / BYTES_PER_TOKEN[type]);
}
