/** Writes chat events as the events of a response (TEXT-26). */
import type { ChatDelta, ChatEvent, FinishReason, ReasoningDetail } from '../../../domain/text/chat.ts';
import { streamedError } from '../../http/upstreamErrors.ts';
import type { StreamForm } from '../answerForm.ts';
import type { CallBill } from '../modelCall.ts';
import type { AnswerHeading, Citation } from '../present.ts';
import {
  callItem,
  encodeSealedReasoning,
  type FunctionCall,
  type ItemStatus,
  incompleteReason,
  messageItem,
  presentResponse,
  reasoningItem,
  textPart,
} from './items.ts';

type Item =
  | { kind: 'reasoning'; id: string; text: string }
  | { kind: 'message'; id: string; text: string }
  | ({ kind: 'call' } & FunctionCall);
type Kind<K extends Item['kind']> = Extract<Item, { kind: K }>;

interface OpenItem<K extends Item['kind']> {
  item: Kind<K>;
  /** Index in the output. */
  at: number;
}

export interface ResponseWriterOptions {
  heading: AnswerHeading;
  citations: readonly Citation[];
  sealedReasoning: boolean;
}

export class ResponseWriter implements StreamForm {
  readonly #opening: ResponseWriterOptions;
  readonly #items: Item[] = [];
  /** By index of the call in chat events. */
  readonly #calls = new Map<number, OpenItem<'call'>>();
  readonly #details: ReasoningDetail[] = [];
  #reasoning: OpenItem<'reasoning'> | undefined = undefined;
  #message: OpenItem<'message'> | undefined = undefined;
  #sequence = 0;
  #finished: FinishReason | undefined = undefined;

  constructor(opening: ResponseWriterOptions) {
    this.#opening = opening;
  }

  begin(): string {
    const response = presentResponse(this.#opening.heading, { status: 'in_progress', output: [] });
    return this.#frame('response.created', { response }) + this.#searched();
  }

  write(batch: readonly ChatEvent[]): string {
    let text = '';
    for (const event of batch) {
      if (event.type === 'delta') text += this.#delta(event.delta);
      else if (event.type === 'finish') this.#finished = event.reason;
    }
    return text;
  }

  end({ usage }: CallBill): string {
    const reason = incompleteReason(this.#finished);
    const status = reason === undefined ? 'completed' : 'incomplete';
    const begun = this.#items.length === 0 ? this.#openMessage() : '';
    const output = this.#items.map((_, at) => this.#present(at, this.#statusOf(at, reason !== undefined)));
    const done = this.#items.map((item, at) => this.#done(item, at, output[at])).join('');
    const response = presentResponse(this.#opening.heading, { status, output, usage, reason });
    return begun + done + this.#frame(`response.${status}`, { response });
  }

  failed(thrown: unknown, { usage }: CallBill): string {
    const { code, message } = streamedError(thrown);
    const output = this.#items.map((_, at) => this.#present(at, this.#statusOf(at, true)));
    const contents = { status: 'failed', error: { code, message }, output, usage } as const;
    return this.#frame('response.failed', { response: presentResponse(this.#opening.heading, contents) });
  }

  #frame(type: string, fields: object): string {
    const data = JSON.stringify({ type, sequence_number: this.#sequence, ...fields });
    this.#sequence += 1;
    return `event: ${type}\ndata: ${data}\n\n`;
  }

  /** Without a sequence number, and with different outer and inner names, as published. */
  #searched(): string {
    const { heading, citations } = this.#opening;
    if (citations.length === 0) return '';
    const results = citations.map(({ url, title, content }, at) => {
      return { index: at + 1, url, title, snippet: content ?? '' };
    });
    const call = { type: 'web_search_call', id: `ws_${heading.id}`, status: 'completed', results };
    return `event: response.web_search.done\ndata: ${JSON.stringify(call)}\n\n`;
  }

  #delta({ reasoning_content: thought, reasoning_details: details, content, tool_calls: calls }: ChatDelta): string {
    let text = '';
    if (thought) text += this.#think(thought);
    if (details && this.#opening.sealedReasoning) text += this.#seal(details);
    if (content) text += this.#say(content);
    for (const call of calls ?? []) text += this.#call(call);
    return text;
  }

  #think(delta: string): string {
    const begun = this.#openReasoning();
    const { item, at } = this.#reasoning as OpenItem<'reasoning'>;
    item.text += delta;
    return begun + this.#frame('response.reasoning.delta', { item_id: item.id, output_index: at, delta });
  }

  #seal(details: readonly ReasoningDetail[]): string {
    this.#details.push(...details);
    return encodeSealedReasoning(details) === undefined ? '' : this.#openReasoning();
  }

  #say(delta: string): string {
    const begun = this.#message === undefined ? this.#openMessage() : '';
    const { item, at } = this.#message as unknown as OpenItem<'message'>;
    item.text += delta;
    const place = { item_id: item.id, output_index: at, content_index: 0 };
    return begun + this.#frame('response.output_text.delta', { ...place, delta });
  }

  #call({ index, id, name, arguments: delta }: NonNullable<ChatDelta['tool_calls']>[number]): string {
    let begun = '';
    let call = this.#calls.get(index);
    if (call === undefined) {
      const own = `fc_${this.#opening.heading.id}_${index}`;
      const item: Kind<'call'> = {
        kind: 'call',
        ...{ id: own, callId: id ?? own, name: name ?? '', arguments: '' },
      };
      call = this.#open(item);
      this.#calls.set(index, call);
      begun = this.#added(call.at);
    }
    if (!delta) return begun;
    const { item, at } = call;
    item.arguments += delta;
    const place = { item_id: item.id, output_index: at };
    return begun + this.#frame('response.function_call_arguments.delta', { ...place, delta });
  }

  #open<K extends Item['kind']>(item: Kind<K>): OpenItem<K> {
    return { item, at: this.#items.push(item) - 1 };
  }

  #openReasoning(): string {
    if (this.#reasoning !== undefined) return '';
    this.#reasoning = this.#open({ kind: 'reasoning', id: `rs_${this.#opening.heading.id}`, text: '' });
    return this.#added(this.#reasoning.at);
  }

  #openMessage(): string {
    const id = `msg_${this.#opening.heading.id}`;
    this.#message = this.#open({ kind: 'message', id, text: '' });
    const { at } = this.#message;
    const item = messageItem(id, [], 'in_progress');
    const added = this.#frame('response.output_item.added', { output_index: at, item });
    return added + this.#part('added', at, { id, text: '' });
  }

  #added(at: number): string {
    const item = this.#present(at, 'in_progress');
    return this.#frame('response.output_item.added', { output_index: at, item });
  }

  #part(what: 'added' | 'done', at: number, { id, text }: { id: string; text: string }): string {
    const place = { item_id: id, output_index: at, content_index: 0 };
    return this.#frame(`response.content_part.${what}`, { ...place, part: textPart(text) });
  }

  #done(item: Item, at: number, presented: object | undefined): string {
    const part = item.kind === 'message' ? this.#part('done', at, item) : '';
    return part + this.#frame('response.output_item.done', { output_index: at, item: presented });
  }

  /** The last item of a cut answer is the incomplete one. */
  #statusOf(at: number, cut: boolean): ItemStatus {
    return cut && at === this.#items.length - 1 ? 'in_progress' : 'completed';
  }

  #present(at: number, status: ItemStatus): object {
    const item = this.#items[at] as Item;
    if (item.kind === 'call') return callItem(item, status);
    if (item.kind === 'message') return messageItem(item.id, [textPart(item.text)], status);
    return reasoningItem(item.id, item.text, encodeSealedReasoning(this.#details));
  }
}
