/** Converts the input items of a response to messages. */
import type { SentPart as ChatPart, SentMessage } from '../chatBody.ts';
import type { ResponsesBody, ResponsesPart, SentItem } from './responsesBody.ts';

type ItemOfType<Type extends SentItem['type']> = Extract<SentItem, { type: Type }>;
type SentMessageOfRole<Role extends SentMessage['role']> = Extract<SentMessage, { role: Role }>;
type TextPart = Extract<ChatPart, { type: 'text' }>;

/** Path in `input` of a part that its message cannot have. */
export class MisplacedPart extends Error {
  readonly path: (string | number)[];

  constructor(path: (string | number)[], message: string) {
    super(message);
    this.path = path;
  }
}

/** Throws MisplacedPart. */
export function inputMessages({ instructions, input }: Pick<ResponsesBody, 'instructions' | 'input'>): SentMessage[] {
  const messages: SentMessage[] = [];
  if (instructions) messages.push({ role: 'system', content: instructions });
  if (typeof input === 'string') return [...messages, { role: 'user', content: input }];
  const turn = new AssistantTurn(messages);
  for (const [at, item] of input.entries()) {
    if (item.type === 'function_call') turn.call(item);
    else if (item.type === 'function_call_output') {
      turn.end();
      messages.push({ role: 'tool', content: wordsOf(item.output), tool_call_id: item.call_id });
    } else if (item.type === 'message') {
      if (item.role === 'assistant') turn.say(textsOf(item, at));
      else {
        turn.end();
        messages.push(item.role === 'user' ? userOf(item) : instructionOf(item.role, textsOf(item, at)));
      }
    }
    // Reasoning, references and searches are dropped (TEXT-24).
  }
  turn.end();
  return messages;
}

/**
 * Texts and calls of the model between two other messages are one message: services refuse a result without its call.
 */
class AssistantTurn {
  readonly #messages: SentMessage[];
  #texts: TextPart[] = [];
  #calls: NonNullable<SentMessageOfRole<'assistant'>['tool_calls']> = [];

  constructor(messages: SentMessage[]) {
    this.#messages = messages;
  }

  say(texts: TextPart[]): void {
    this.#texts.push(...texts);
  }

  call({ call_id: id, name, arguments: text }: ItemOfType<'function_call'>): void {
    this.#calls.push({ id, type: 'function', function: { name, arguments: text } });
  }

  end(): void {
    const [only, ...more] = this.#texts;
    if (only || this.#calls.length > 0) {
      const content = only === undefined ? null : more.length > 0 ? this.#texts : only.text;
      const calls = this.#calls.length > 0 ? { tool_calls: this.#calls } : {};
      this.#messages.push({ role: 'assistant', content, ...calls });
    }
    this.#texts = [];
    this.#calls = [];
  }
}

/** Empty parts are dropped: services refuse them. */
function textsOf({ role, content }: ItemOfType<'message'>, at: number): TextPart[] {
  const parts = typeof content === 'string' ? [{ type: 'input_text' as const, text: content }] : content;
  return parts.flatMap((part, index) => {
    if (part.type === 'input_image' || part.type === 'input_file') {
      const message = `${part.type} is for messages of the user, not of role ${role}`;
      throw new MisplacedPart(['input', at, 'content', index], message);
    }
    return part.text === '' ? [] : [{ type: 'text' as const, text: part.text }];
  });
}

function instructionOf(role: 'system' | 'developer', texts: TextPart[]): SentMessage {
  const [only, ...more] = texts;
  return { role, content: more.length > 0 ? texts : (only?.text ?? '') };
}

function userOf({ content }: ItemOfType<'message'>): SentMessage {
  if (typeof content === 'string') return { role: 'user', content };
  const parts = content.flatMap(partOf);
  return { role: 'user', content: parts.length > 0 ? parts : '' };
}

function partOf(part: ResponsesPart): ChatPart[] {
  switch (part.type) {
    case 'input_image': {
      const image = typeof part.image_url === 'string' ? { url: part.image_url } : part.image_url;
      return [{ type: 'image_url', image_url: { ...image, detail: image.detail ?? part.detail } }];
    }
    case 'input_file': {
      const named = part.filename == null ? {} : { filename: part.filename };
      return [{ type: 'file', file: { file_data: part.file_data ?? part.file_url ?? '', ...named } }];
    }
    default:
      return part.text === '' ? [] : [{ type: 'text', text: part.text }];
  }
}

/** A text unchanged, a list of text parts as one text, anything else as JSON. */
function wordsOf(output: unknown): string {
  if (typeof output === 'string') return output;
  const texts = Array.isArray(output) ? output.map(textIn) : [undefined];
  return texts.every((text) => text !== undefined) ? texts.join('') : JSON.stringify(output);
}

function textIn(part: unknown): string | undefined {
  const { type, text } = (part ?? {}) as { type?: unknown; text?: unknown };
  return (type === 'input_text' || type === 'output_text') && typeof text === 'string' ? text : undefined;
}
