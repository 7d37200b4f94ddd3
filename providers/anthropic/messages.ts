/** Converts chat messages to the Messages API: alternating turns, tool results in the user's turn. */
import type {
  CacheControl,
  ChatMessage,
  MediaPart,
  ReasoningDetail,
  TextPart,
  UserPart,
} from '../../domain/text/chat.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import { type Fields, isFields, parseJson } from '../shared/textFailures.ts';
import { THINKING_FORMAT } from './thinking.ts';

export interface Turn {
  role: 'user' | 'assistant';
  content: Fields[];
}

/** Moves all system messages to the front: the service has one system prompt. */
export function toSystem(messages: readonly ChatMessage[]): Fields[] {
  return messages.flatMap((message) =>
    message.role === 'system' || message.role === 'developer' ? toTexts(message.content) : [],
  );
}

export function toTurns(messages: readonly ChatMessage[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const turn = toTurn(message);
    if (turn === undefined || turn.content.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === turn.role) last.content.push(...turn.content);
    else turns.push(turn);
  }
  return turns.map((turn) => (turn.role === 'user' ? resultsFirst(turn) : turn));
}

/** The service requires tool results before other user content. */
function resultsFirst({ role, content }: Turn): Turn {
  const isResult = (block: Fields) => block.type === 'tool_result';
  return { role, content: [...content.filter(isResult), ...content.filter((block) => !isResult(block))] };
}

function toTurn(message: ChatMessage): Turn | undefined {
  switch (message.role) {
    case 'system':
    case 'developer':
      return undefined;
    case 'user': {
      const { content } = message;
      return {
        role: 'user',
        content: typeof content === 'string' ? toTexts(content) : content.flatMap(toBlock),
      };
    }
    case 'assistant':
      return { role: 'assistant', content: toAssistant(message) };
    case 'tool': {
      const result = { type: 'tool_result', tool_use_id: message.tool_call_id, content: message.content };
      return { role: 'user', content: [result] };
    }
  }
}

function toAssistant(message: Extract<ChatMessage, { role: 'assistant' }>): Fields[] {
  const calls = message.tool_calls ?? [];
  return [
    ...toThinking(message),
    ...(message.content === null ? [] : toTexts(message.content)),
    ...calls.map(({ id, function: called }) => ({
      type: 'tool_use',
      id,
      name: called.name,
      input: toInput(called.arguments),
    })),
  ];
}

/** The service requires an object. Other text is wrapped in one. */
function toInput(written: string): Fields {
  if (written.trim() === '') return {};
  const input = parseJson(written);
  return isFields(input) ? input : { arguments: written };
}

/** Returns signed thinking only: the service refuses any other. */
function toThinking(message: Extract<ChatMessage, { role: 'assistant' }>): Fields[] {
  const signed = (message.reasoning_details ?? []).flatMap(toThinkingBlock);
  if (signed.length > 0) return signed;
  const { reasoning_content: thinking, thought_signature: signature } = message;
  return thinking === undefined || signature === undefined ? [] : [{ type: 'thinking', thinking, signature }];
}

function toThinkingBlock({ type, format, text, data }: ReasoningDetail): Fields[] {
  if (format !== THINKING_FORMAT || data === undefined) return [];
  if (type === 'redacted_thinking') return [{ type, data }];
  return type === 'thinking' ? [{ type, thinking: text ?? '', signature: data }] : [];
}

/** Drops empty texts: the service refuses them. */
function toTexts(content: string | readonly TextPart[]): Fields[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return content.flatMap((part) => toBlock(part));
}

const IMAGES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];

function toBlock(part: UserPart): Fields[] {
  if (part.type === 'text') {
    return part.text === '' ? [] : [{ type: 'text', text: part.text, ...toMark(part.cache_control) }];
  }
  if (part.type !== 'image') throw refusedFailure(`The model does not take ${part.type}.`);
  return [{ type: 'image', source: toSource(part), ...toMark(part.cache_control) }];
}

function toSource({ mediaType, bytes }: MediaPart): Fields {
  if (!IMAGES.includes(mediaType)) throw refusedFailure('The model takes PNG, JPEG, WebP and GIF images only.');
  return { type: 'base64', media_type: mediaType, data: bytes.toString('base64') };
}

function toMark(mark: CacheControl | undefined): Fields {
  if (mark === undefined) return {};
  return { cache_control: mark.ttl === undefined ? { type: mark.type } : { type: mark.type, ttl: mark.ttl } };
}

export function refusedFailure(message: string): UpstreamFailure {
  return new UpstreamFailure({ reason: 'refused', detail: 'not sent: it does not take this', message });
}
