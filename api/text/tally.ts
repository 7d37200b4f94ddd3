/** Usage of a text call, as reported by its service, or by our own count. */
import type { ChatEvent, ChatMessage, ChatRequest, Completion, TokenUsage } from '../../domain/text/chat.ts';
import { MAX_LETTERS_PER_TOKEN, mediaTokensOf, tokensOfSealed } from '../../domain/text/promptSize.ts';
import { countTokens } from '../../engines/text/countTokens.ts';

export interface CountedUsage {
  usage: TokenUsage;
  /** True: counted by this service. */
  counted: boolean;
}

/** Collects a stream. When the service reports no usage, or was cut before it, its output is counted. */
export class Tally {
  usage: TokenUsage | undefined = undefined;
  #output = '';
  #reasoning = '';
  /** Length of both texts when the usage was reported: a report before further text is interim. */
  #lettersAtUsage = 0;
  /** Tokens of an encrypted stream. */
  #sealedTokens = 0;
  #finished = new Set<number>();
  #finishedAtUsage = 0;

  get #letters(): number {
    return this.#output.length + this.#reasoning.length;
  }

  add(event: ChatEvent): void {
    if (event.type === 'usage') {
      this.usage = event.usage;
      this.#lettersAtUsage = this.#letters;
      this.#finishedAtUsage = this.#finished.size;
    }
    if (event.type === 'finish') this.#finished.add(event.index);
    if (event.type !== 'delta') return;
    const { content, reasoning_content, tool_calls } = event.delta;
    if (content !== undefined) {
      this.#output += content;
      this.#sealedTokens += tokensOfSealed(content);
    }
    if (reasoning_content !== undefined) {
      this.#reasoning += reasoning_content;
      this.#sealedTokens += tokensOfSealed(reasoning_content);
    }
    for (const { name = '', arguments: text = '' } of tool_calls ?? []) {
      this.#output += name + text;
      this.#sealedTokens += tokensOfSealed(name + text);
    }
  }

  /** The service reported its usage after the end of every choice: later events change nothing. */
  isUsageFinal({ n }: Pick<ChatRequest, 'n'>): boolean {
    return this.#finishedAtUsage >= n && this.#lettersAtUsage === this.#letters;
  }

  /** Whether reasoning came in a field of its own. */
  get hasReasoning(): boolean {
    return this.#reasoning !== '';
  }

  /** Usage for a client that has left: the prompt counts, whatever came back. */
  async countLeft(request: ChatRequest): Promise<CountedUsage> {
    const counted = await this.count(request, false);
    if (counted.usage.promptTokens > 0) return counted;
    const promptTokens = await countAllOfPrompt(request);
    return { usage: { ...counted.usage, promptTokens }, counted: true };
  }

  /** `whole`: the stream is complete, so a usage after all text is final. */
  async count(request: ChatRequest, whole: boolean): Promise<CountedUsage> {
    const received = { output: this.#output, reasoning: this.#reasoning, sealedTokens: this.#sealedTokens };
    const isFinal = (whole && this.#lettersAtUsage === this.#letters) || this.isUsageFinal(request);
    return await largerCount(request, received, { usage: this.usage, isFinal });
  }
}

interface ReceivedText {
  output: string;
  reasoning: string;
  /** Tokens of both texts when they are encrypted. */
  sealedTokens: number;
}

interface ReportedUsage {
  usage: TokenUsage | undefined;
  /** The report is about the whole answer. */
  isFinal: boolean;
}

/**
 * The larger of the reported usage and our count. A final report that fits the length of the text is trusted without
 * counting: vocabularies differ a little. A report about encrypted text, which is longer than its content, is always
 * trusted.
 */
async function largerCount(
  request: ChatRequest,
  received: ReceivedText,
  { usage, isFinal }: ReportedUsage,
): Promise<CountedUsage> {
  if (!usage) return { usage: await countProduced(request, received), counted: true };
  const letters = received.output.length + received.reasoning.length;
  const isPlausible = request.e2eeHeaders !== undefined || usage.completionTokens * MAX_LETTERS_PER_TOKEN >= letters;
  if (isFinal && isPlausible) return { usage, counted: false };
  const { completionTokens } = await countReceived(request, received);
  if (usage.completionTokens >= completionTokens) return { usage, counted: false };
  return { usage: { ...usage, completionTokens }, counted: true };
}

export async function countCompletion(request: ChatRequest, completion: Completion): Promise<CountedUsage> {
  let output = '';
  let reasoning = '';
  let sealedTokens = 0;
  for (const { message } of completion.choices) {
    const { content, reasoning_content: thought, tool_calls: calls = [] } = message;
    const texts = [content ?? '', ...calls.map(({ function: call }) => call.name + call.arguments)];
    output += texts.join('');
    reasoning += thought ?? '';
    sealedTokens += [...texts, thought ?? ''].reduce((sum, text) => sum + tokensOfSealed(text), 0);
  }
  const received = { output, reasoning, sealedTokens };
  return await largerCount(request, received, { usage: completion.usage, isFinal: true });
}

type ReceivedTokens = Pick<TokenUsage, 'completionTokens' | 'reasoningTokens'>;

async function countReceived({ e2eeHeaders }: ChatRequest, received: ReceivedText): Promise<ReceivedTokens> {
  if (e2eeHeaders) return { completionTokens: received.sealedTokens, reasoningTokens: 0 };
  const { output, reasoning } = received;
  const [outputTokens, reasoningTokens] = await Promise.all([countTokens(output), countTokens(reasoning)]);
  return { completionTokens: outputTokens + reasoningTokens, reasoningTokens };
}

async function countProduced(request: ChatRequest, received: ReceivedText): Promise<TokenUsage> {
  const { completionTokens, reasoningTokens } = await countReceived(request, received);
  const promptTokens = completionTokens === 0 ? 0 : await countAllOfPrompt(request);
  return { promptTokens, cachedTokens: 0, cacheWriteTokens: 0, completionTokens, reasoningTokens };
}

/** Tokens that services add around each message. */
const AROUND_MESSAGE = 4;

/** Counts the messages and tools; stops when it exceeds `most`. */
export async function countPrompt(
  { messages, tools }: Pick<ChatRequest, 'messages' | 'tools'>,
  most?: number,
): Promise<number> {
  const texts = messages.map((message) => {
    if (typeof message.content === 'string') return message.content;
    return (message.content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  });
  const all = tools ? [...texts, JSON.stringify(tools)] : texts;
  return (await countTokens(all.join('\n'), most)) + messages.length * AROUND_MESSAGE;
}

/** Counts for a bill: a client that leaves early has sent the whole prompt. Media count as in the hold. */
async function countAllOfPrompt(request: ChatRequest): Promise<number> {
  const { messages, tools, responseFormat, mediaTokens, e2eeHeaders } = request;
  const others = messages.flatMap(silentTextsOf);
  if (responseFormat?.type === 'json_schema') others.push(JSON.stringify(responseFormat));
  if (e2eeHeaders) {
    if (tools) others.push(JSON.stringify(tools));
    return sealedTokensOf(messages) + (await countTokens(others.join('\n')));
  }
  const media = mediaTokensOf(messages, mediaTokens);
  return (await countPrompt(request)) + (await countTokens(others.join('\n'))) + media;
}

/** Tokens of an encrypted request, which has no media. */
function sealedTokensOf(messages: readonly ChatMessage[]): number {
  const texts = messages.flatMap(({ content }) => {
    if (typeof content === 'string') return [content];
    return (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : []));
  });
  return texts.reduce((sum, text) => sum + tokensOfSealed(text), messages.length * AROUND_MESSAGE);
}

/** Reasoning and calls of an assistant message. Details of reasoning repeat its text when both are present. */
function silentTextsOf(message: ChatMessage): string[] {
  if (message.role !== 'assistant') return [];
  const { reasoning_content: thought, reasoning_details: details = [], tool_calls: calls = [] } = message;
  const called = calls.map(({ function: { name, arguments: text } }) => `${name}\n${text}`);
  return [thought ?? details.map(({ text }) => text ?? '').join('\n'), ...called];
}
