/**
 * Writes chat events as the frames of a stream (TEXT-20). Thousands of them a second pass here: text that all of them
 * share is serialised once.
 */
import type { ChatEvent, ToolCall } from '../../domain/text/chat.ts';
import { createThinkingFilter, type ThinkingFilter } from '../../domain/text/thinking.ts';
import { streamedError } from '../http/upstreamErrors.ts';
import type { StreamForm } from './answerForm.ts';
import type { CallBill } from './modelCall.ts';
import { type AnswerHeading, isStripped, presentCost, presentDelta, presentLogprobs, presentUsage } from './present.ts';
import { type AnswerPresentation, documentsCall, effectiveParameters } from './web/presentWebResults.ts';

type Delta = Extract<ChatEvent, { type: 'delta' }>;
type FinishEvent = Extract<ChatEvent, { type: 'finish' }>;

function headOf({ id, created, model }: AnswerHeading) {
  return { id, object: 'chat.completion.chunk', created, model };
}

export class StreamWriter implements StreamForm {
  readonly #head: string;
  readonly #presenting: AnswerPresentation;
  readonly #stripped: boolean;
  /** Choices whose first delta was sent: it names the role. */
  readonly #begun = new Set<number>();
  /** Choices with a tool call: the end of their text that the service reports is the end of their calls. */
  readonly #calling = new Set<number>();
  /** The call with the search results is first in choice 0. */
  #calledFirst = false;
  readonly #filters = new Map<number, ThinkingFilter>();

  constructor(heading: AnswerHeading, presenting: AnswerPresentation) {
    this.#head = `data: ${JSON.stringify(headOf(heading)).slice(0, -1)},"choices":`;
    this.#presenting = presenting;
    this.#stripped = isStripped(presenting.parameters);
  }

  /** Writes the call with the search results before any text of the model, whose own calls are numbered after it. */
  #callFirst({ id, function: { name, arguments: text } }: ToolCall): string {
    const call = { index: 0, id, name, arguments: text };
    const frame = this.#delta({ type: 'delta', index: 0, delta: { tool_calls: [call] } });
    this.#calledFirst = true;
    return frame;
  }

  #frame(choice: object): string {
    return `${this.#head}[${JSON.stringify(choice)}]}\n\n`;
  }

  /**
   * Results of lookups, where the client wants them first; otherwise the first event of the model begins the stream.
   */
  begin(): string {
    const { parameters } = this.#presenting;
    const results = parameters.include_search_results_in_stream
      ? `${this.#head}[],${JSON.stringify({ service_parameters: effectiveParameters(this.#presenting) }).slice(1)}\n\n`
      : '';
    const call = documentsCall(this.#presenting);
    return call ? results + this.#callFirst(call) : results;
  }

  end({ usage, cost }: CallBill, after: { balance?: object }): string {
    const last = { usage: presentUsage(usage), cost: presentCost(cost), ...after };
    return `${this.#head}[],${JSON.stringify(last).slice(1)}\n\n`;
  }

  failed(error: unknown): string {
    return `data: ${JSON.stringify({ error: streamedError(error) })}\n\n`;
  }

  write(batch: readonly ChatEvent[]): string {
    let text = '';
    for (const event of batch) {
      if (event.type === 'delta') text += this.#delta(event);
      else if (event.type === 'finish') text += this.#finish(event);
    }
    return text;
  }

  #delta(sent: Delta): string {
    const { index } = sent;
    const event = this.#calledFirst && index === 0 && sent.delta.tool_calls ? countedOn(sent) : sent;
    if (event.delta.tool_calls) this.#calling.add(index);
    const shown = this.#stripped ? this.#withoutReasoning(event) : presentDelta(event.delta);
    if (shown === undefined) return '';
    const delta = this.#begun.has(index) ? shown : { role: 'assistant', ...shown };
    this.#begun.add(index);
    const logprobs = event.logprobs && { logprobs: presentLogprobs(event.logprobs) };
    return this.#frame({ index, delta, finish_reason: null, ...logprobs });
  }

  #withoutReasoning({ index, delta }: Delta): object | undefined {
    const { content, tool_calls } = presentDelta(delta) as { content?: string; tool_calls?: object[] };
    const visible = content === undefined ? '' : this.#filterOf(index).push(content);
    if (visible === '' && !tool_calls) return undefined;
    return { ...(visible === '' ? {} : { content: visible }), ...(tool_calls ? { tool_calls } : {}) };
  }

  #filterOf(index: number): ThinkingFilter {
    const known = this.#filters.get(index);
    if (known) return known;
    const filter = createThinkingFilter();
    this.#filters.set(index, filter);
    return filter;
  }

  #finish({ index, reason }: FinishEvent): string {
    const held = this.#filters.get(index)?.end() ?? '';
    const rest = held === '' ? '' : this.#frame({ index, delta: { content: held }, finish_reason: null });
    const finished = this.#calling.has(index) && reason === 'stop' ? 'tool_calls' : reason;
    const stop = finished === 'stop' || finished === 'length' ? finished : null;
    return rest + this.#frame({ index, delta: {}, finish_reason: finished, stop_reason: stop });
  }
}

function countedOn({ delta, ...event }: Delta): Delta {
  const calls = delta.tool_calls?.map((call) => ({ ...call, index: call.index + 1 }));
  return { ...event, delta: { ...delta, ...(calls && { tool_calls: calls }) } };
}
