/**
 * How many tokens a prompt can come to, before any service has counted it: what is held for it. On the high side: what a
 * prompt costs beyond its hold is nobody's bill but ours.
 */
import type { MediaTokenRates } from '../catalogue/model.ts';
import type { ChatMessage, ChatRequest, MediaPart, TextPart, UserPart } from './chat.ts';
import { COST, stepFrom, TOKEN } from './tokenSteps.ts';

/** More letters than that are too many for a token in any language. */
export const MAX_LETTERS_PER_TOKEN = 8;
/** What services add around each message. */
export const TOKENS_PER_MESSAGE = 8;
/**
 * Services that cut pictures into tiles count up to 2,000 tokens for a small one; those that count pixels one for 784 of
 * them, 16,384 at most. A second of video is 258 tokens or two frames of 384, a second of sound 32 or fewer.
 */
export const DEFAULT_MEDIA_TOKENS: MediaTokenRates = {
  pixelsPerToken: 500,
  minPerImage: 2_000,
  maxPerImage: 16_384,
  perVideoSecond: 800,
  perAudioSecond: 50,
};

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

/** Media included. */
export function promptTokensOf(request: Prompt & Pick<ChatRequest, 'mediaTokens'>): number {
  return textTokensOf(request) + mediaTokensOf(request.messages, request.mediaTokens);
}

export function textTokensOf({ messages, tools, responseFormat }: Prompt): number {
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
  return part.type === 'text' ? estimateTokens(part.text) : 0;
}

export function mediaTokensOf(
  messages: readonly ChatMessage[],
  rates: Partial<MediaTokenRates> = {},
): number {
  const complete = { ...DEFAULT_MEDIA_TOKENS, ...rates };
  let tokens = 0;
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content) if (part.type !== 'text') tokens += tokensOfMedium(part, complete);
  }
  return tokens;
}

function tokensOfMedium(part: MediaPart, rates: MediaTokenRates): number {
  switch (part.type) {
    case 'image': {
      const tokens = Math.ceil(part.pixels / rates.pixelsPerToken);
      return Math.min(rates.maxPerImage, Math.max(rates.minPerImage, tokens));
    }
    case 'audio':
      return secondsCounted(part.seconds) * rates.perAudioSecond;
    case 'video': {
      const sound = part.audioSeconds > 0 ? secondsCounted(part.audioSeconds) * rates.perAudioSecond : 0;
      return secondsCounted(part.seconds) * rates.perVideoSecond + sound;
    }
  }
}

/** Services round up to a whole second, and sample two frames of the shortest video. */
function secondsCounted(seconds: number): number {
  return Math.ceil(seconds) + 1;
}
