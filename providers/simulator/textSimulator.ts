/**
 * Simulates a text model: makes no calls, says so, and repeats the message word by word. Deterministic; for
 * demonstrations and tests without a model.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { optionsIn } from '../../domain/decisions/prompt.ts';
import type {
  ChatEvent,
  ChatMessage,
  ChatRequest,
  Completion,
  TokenLogprob,
  TokenUsage,
} from '../../domain/text/chat.ts';
import { promptTokensOf } from '../../domain/text/promptSize.ts';
import type { TextCallContext, TextProvider } from '../shared/textProvider.ts';
import type { SimulatorSettings } from './settings.ts';

/** Requests for more tokens expect a text, not a label. */
const MAX_LABEL_LENGTH = 4;
const NO_PIECES = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

export function createTextSimulator(settings: Pick<SimulatorSettings, 'latencyMs'>): TextProvider {
  const wait = async ({ signal }: TextCallContext) => {
    if (settings.latencyMs > 0) await sleep(settings.latencyMs, undefined, { signal });
  };
  return {
    async complete(request, context) {
      await wait(context);
      return completionOf(request);
    },
    async stream(request, context) {
      await wait(context);
      return { events: eventsOf(request) };
    },
    close: async () => undefined,
  };
}

/** Returns a label if one is requested; only these answers have log probabilities. */
function label({ messages, logprobs, maxTokens }: ChatRequest): TokenLogprob | undefined {
  if (logprobs === undefined && maxTokens > MAX_LABEL_LENGTH) return undefined;
  return simulatedLabel(lastWords(messages), logprobs?.top ?? 0);
}

interface SimulatedReply {
  words: string[];
  cut: boolean;
}

/** A token is a word with the space after it. */
function say(request: ChatRequest): SimulatedReply {
  const { messages, maxTokens, responseFormat } = request;
  const asked = lastWords(messages);
  const wanted = responseFormat !== undefined && responseFormat.type !== 'text';
  const text = wanted
    ? JSON.stringify({ simulated: true, prompt: asked })
    : `This is a simulation: no model was asked. Your message was: ${asked}`;
  const words = text.match(/\S+\s*/g) ?? [];
  return { words: words.slice(0, maxTokens), cut: words.length > maxTokens };
}

function lastWords(messages: readonly ChatMessage[]): string {
  const last = messages.findLast(({ role }) => role === 'user');
  if (!last) return '';
  if (typeof last.content === 'string') return last.content;
  return (last.content ?? []).map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ');
}

function usageOf(request: ChatRequest, { words }: SimulatedReply): TokenUsage {
  return {
    promptTokens: promptTokensOf(request),
    completionTokens: words.length * request.n,
    ...NO_PIECES,
  };
}

function completionOf(request: ChatRequest): Completion {
  const labelled = label(request);
  const said = labelled ? { words: [labelled.token], cut: true } : say(request);
  const logprobs = labelled && request.logprobs ? { logprobs: [labelled] } : {};
  const finishReason = said.cut ? 'length' : 'stop';
  const choices = Array.from({ length: request.n }, (_, index) => {
    return { index, message: { content: said.words.join('') }, finishReason, ...logprobs } as const;
  });
  return { choices, usage: usageOf(request, said) };
}

async function* eventsOf(request: ChatRequest): AsyncGenerator<ChatEvent[]> {
  const said = say(request);
  const choices = Array.from({ length: request.n }, (_, index) => index);
  for (const word of said.words) {
    yield choices.map((index) => ({ type: 'delta', index, delta: { content: word } }));
  }
  yield choices.map((index) => ({ type: 'finish', index, reason: said.cut ? 'length' : 'stop' }));
  yield [{ type: 'usage', usage: usageOf(request, said) }];
}

/**
 * Returns the likeliest label with all labels as alternatives; undefined if the prompt has no options. An option is
 * likelier the more words it shares with the text before the options: meaning is not evaluated.
 */
function simulatedLabel(prompt: string, top: number): TokenLogprob | undefined {
  const found = optionsIn(prompt);
  if (found === undefined) return undefined;
  const known = wordsIn(found.before);
  const weights = found.options.map(({ words }) =>
    Math.exp([...wordsIn(words)].filter((word) => known.has(word)).length),
  );
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const listed = found.options
    .map(({ label }, at) => ({ token: label, logprob: Math.log((weights[at] ?? 0) / sum), bytes: null }))
    .sort((one, other) => other.logprob - one.logprob);
  const [first] = listed;
  return first && { ...first, top_logprobs: listed.slice(0, top) };
}

function wordsIn(text: string): Set<string> {
  return new Set(
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [],
  );
}
