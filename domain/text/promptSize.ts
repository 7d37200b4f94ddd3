/**
 * Upper estimate of a prompt's tokens, for its hold, before a service has counted them. It is high on purpose: tokens
 * above the hold are at our expense.
 */
import type { MediaTokenRates, ReasoningEffort } from '../catalogue/specs.ts';
import type { ChatMessage, ChatRequest, MediaPart, TextPart, UserPart } from './chat.ts';
import { COST, stepFrom, TOKEN } from './tokenSteps.ts';

/** No language has more letters per token than this. */
export const MAX_LETTERS_PER_TOKEN = 8;
/** Tokens that services add around each message. */
export const TOKENS_PER_MESSAGE = 8;
/**
 * Services that tile images count up to 2,000 tokens for a small one. Others count one token per 784 pixels, 16,384 at
 * most. A second of video is 258 tokens, or two frames of 384; a second of sound is 32 or fewer.
 */
const DEFAULT_MEDIA_TOKENS: MediaTokenRates = {
  pixelsPerToken: 500,
  minPerImage: 2_000,
  maxPerImage: 16_384,
  perVideoSecond: 800,
  perAudioSecond: 50,
};

/**
 * Upper estimate of the tokens of a text; up to twice the real number for prose in Latin script. Only a few nonsense
 * words in small letters can have more: they look like words, but are in no vocabulary.
 */
export function estimateTokens(text: string): number {
  const estimate = new TokenEstimate();
  estimate.add(text, 0, text.length);
  return estimate.tokens;
}

/** The same estimate for a text that is read in pieces, because a long one takes time. */
export class TokenEstimate {
  #cost = 0;
  #step = 0;

  add(text: string, from: number, to: number): void {
    let cost = 0;
    let step = this.#step;
    for (let at = from; at < to; at += 1) {
      step = stepFrom(step, text.charCodeAt(at));
      cost += step & COST;
    }
    this.#cost += cost;
    this.#step = step;
  }

  get tokens(): number {
    return Math.ceil(this.#cost / TOKEN);
  }
}

/** Longest beginning of a text with at most so many tokens, by the same estimate. */
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

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

type Prompt = Pick<ChatRequest, 'messages' | 'tools' | 'responseFormat'>;

/** Includes media. */
export function promptTokensOf(request: Prompt & Pick<ChatRequest, 'mediaTokens'>): number {
  const { texts, around } = promptTextsOf(request);
  const tokens = texts.reduce((sum, text) => sum + estimateTokens(text), around);
  return tokens + mediaTokensOf(request.messages, request.mediaTokens);
}

export interface PromptTexts {
  texts: string[];
  /** Tokens around the texts. */
  around: number;
}

/** Excludes media. */
export function promptTextsOf({ messages, tools, responseFormat }: Prompt): PromptTexts {
  const texts = messages.flatMap(textsOf);
  if (tools) texts.push(JSON.stringify(tools));
  if (responseFormat?.type === 'json_schema') texts.push(JSON.stringify(responseFormat));
  const calls = messages.reduce((sum, message) => sum + callsOf(message).length, 0);
  return { texts, around: TOKENS_PER_MESSAGE * (1 + messages.length + calls) };
}

function textsOf(message: ChatMessage): string[] {
  const { name, content } = message;
  const texts = typeof content === 'string' ? [content] : (content ?? []).flatMap(textOfPart);
  if (name !== undefined) texts.push(name);
  if (message.role === 'tool') texts.push(message.tool_call_id);
  if (message.role !== 'assistant') return texts;
  texts.push(message.reasoning_content ?? '', message.thought_signature ?? '');
  for (const { text = '', data = '' } of message.reasoning_details ?? []) texts.push(text, data);
  for (const { id, function: call } of callsOf(message)) texts.push(id, call.name, call.arguments);
  return texts;
}

function callsOf(message: ChatMessage) {
  return (message.role === 'assistant' && message.tool_calls) || [];
}

function textOfPart(part: TextPart | UserPart): string[] {
  return part.type === 'text' ? [part.text] : [];
}

export function mediaTokensOf(messages: readonly ChatMessage[], rates: Partial<MediaTokenRates> = {}): number {
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

/** Services round up to a whole second and sample two frames of the shortest video. */
function secondsCounted(seconds: number): number {
  return Math.ceil(seconds) + 1;
}

/** Reasoning tokens beside the answer, by effort; generous, because services state no limit. */
const REASONING_TOKENS: Record<ReasoningEffort, number> = {
  none: 0,
  minimal: 4_096,
  low: 8_192,
  medium: 16_384,
  high: 32_768,
  xhigh: 65_536,
  max: 65_536,
};
/** Assumed effort for a request without one: the model has a default of its own. */
const DEFAULT_EFFORT: ReasoningEffort = 'high';

/**
 * Reasoning tokens per choice, for services that count them beside the limit of an answer. A request without
 * `reasoning` is for a model without it.
 */
export function reasoningBesideOf({ reasoning }: Pick<ChatRequest, 'reasoning'>): number {
  if (reasoning === undefined) return 0;
  const { effort, enabled } = reasoning;
  if (effort === undefined && enabled === false) return 0;
  return REASONING_TOKENS[effort ?? DEFAULT_EFFORT];
}

/** Overhead in bytes: secp256k1 public key of the sender (65), AES-GCM nonce (12) and tag (16). */
const BYTES_AROUND = 93;
const BYTES_PER_TOKEN = 4;

/** Tokens of an encrypted text in hex, by its length; at least one unless empty. */
export function tokensOfSealed({ length }: string): number {
  return length === 0 ? 0 : Math.max(1, Math.ceil((length / 2 - BYTES_AROUND) / BYTES_PER_TOKEN));
}
