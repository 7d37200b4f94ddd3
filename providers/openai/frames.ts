/** Reads the frames of a streamed chat completion. Runs for every token: checks by hand, and only what is needed. */
import type { ChatDelta, ChatEvent, ToolCallDelta } from '../../domain/text/chat.ts';
import type { FrameReader } from '../shared/eventBatches.ts';
import { count, type Fields, garbageFailure, isFields, parseJson } from '../shared/textFailures.ts';
import { errorIn, failureOfError } from './errorReply.ts';
import {
  argumentsOf,
  finishReason,
  newCallId,
  readLogprobs,
  readUsage,
  reasoningDetails,
  reasoningOf,
  withCalls,
} from './reply.ts';

interface Call {
  /** Index that the service gave; undefined if none. */
  place: number | undefined;
  id: string;
}

interface Choice {
  finished: boolean;
  calls: Call[];
}

export class OpenAiFrames implements FrameReader {
  upstreamId: string | undefined;
  upstreamModel: string | undefined;
  private readonly n: number;
  private readonly choices = new Map<number, Choice>();

  constructor(n: number) {
    this.n = n;
  }

  read(data: string, events: ChatEvent[]): boolean {
    if (data === '[DONE]') {
      this.conclude(events);
      return true;
    }
    const frame = parseJson(data);
    if (!isFields(frame)) throw garbageFailure('a frame that is no JSON object');
    if (!Array.isArray(frame.choices) || frame.error) this.checkError(frame);
    else for (const choice of frame.choices) this.readChoice(choice, events);
    if (this.upstreamId === undefined && typeof frame.id === 'string') this.upstreamId = frame.id;
    if (this.upstreamModel === undefined && typeof frame.model === 'string') this.upstreamModel = frame.model;
    if (frame.usage) {
      const usage = readUsage(frame.usage);
      if (usage !== undefined) events.push({ type: 'usage', usage });
    }
    return false;
  }

  complete(): boolean {
    if (this.choices.size < this.n) return false;
    for (const choice of this.choices.values()) if (!choice.finished) return false;
    return true;
  }

  private checkError(frame: Fields): void {
    const error = errorIn(frame);
    if (error !== undefined) throw failureOfError(error);
  }

  /** Finishes the choices that `[DONE]` left without a reason. */
  private conclude(events: ChatEvent[]): void {
    if (this.choices.size === 0) throw garbageFailure('a stream without a choice');
    for (const [index, choice] of this.choices) {
      if (!choice.finished) this.finish(index, choice, { reason: 'stop', events });
    }
  }

  private readChoice(told: unknown, events: ChatEvent[]): void {
    if (!isFields(told)) throw garbageFailure('a choice that is no object');
    const index = count(told.index ?? 0);
    if (index === undefined) throw garbageFailure('a choice without a place');
    // Unrequested choices cannot be billed.
    if (index >= this.n) return;
    let choice = this.choices.get(index);
    if (choice === undefined) {
      choice = { finished: false, calls: [] };
      this.choices.set(index, choice);
    }
    if (isFields(told.delta)) this.readDelta(told, choice, events);
    if (typeof told.finish_reason !== 'string' || told.finish_reason === '') return;
    if (!choice.finished) this.finish(index, choice, { reason: told.finish_reason, events });
  }

  private finish(index: number, choice: Choice, { reason, events }: { reason: string; events: ChatEvent[] }) {
    const known = finishReason(reason);
    if (known === 'failed') throw failureOfError({ code: reason });
    choice.finished = true;
    events.push({ type: 'finish', index, reason: withCalls(known, choice.calls.length > 0) });
  }

  private readDelta(told: Fields, choice: Choice, events: ChatEvent[]): void {
    const from = told.delta as Fields;
    const index = (told.index ?? 0) as number;
    const delta: ChatDelta = {};
    const content = typeof from.content === 'string' ? from.content : from.refusal;
    if (typeof content === 'string' && content !== '') delta.content = content;
    const reasoning = reasoningOf(from);
    if (reasoning !== undefined) delta.reasoning_content = reasoning;
    const details = reasoningDetails(from.reasoning_details);
    if (details !== undefined) delta.reasoning_details = details;
    if (typeof from.thought_signature === 'string') delta.thought_signature = from.thought_signature;
    const calls = callsIn(from);
    if (calls.length > 0) delta.tool_calls = calls.map((call) => toCallDelta(call, choice.calls));
    const logprobs = told.logprobs ? readLogprobs(told.logprobs) : undefined;
    if (logprobs !== undefined && logprobs.length > 0) events.push({ type: 'delta', index, delta, logprobs });
    else if (Object.keys(delta).length > 0) events.push({ type: 'delta', index, delta });
  }
}

const NONE: readonly unknown[] = [];

function callsIn(delta: Fields): readonly unknown[] {
  if (Array.isArray(delta.tool_calls)) return delta.tool_calls;
  return isFields(delta.function_call) ? [{ index: 0, function: delta.function_call }] : NONE;
}

/** Most services number the calls. Some give each the number 0, or none, so that only the id marks a new call. */
function toCallDelta(told: unknown, calls: Call[]): ToolCallDelta {
  if (!isFields(told)) throw garbageFailure('a tool call that is no object');
  const named = isFields(told.function) ? told.function : {};
  const place = count(told.index);
  const id = typeof told.id === 'string' && told.id !== '' ? told.id : undefined;
  const at = calls.findLastIndex((call) =>
    place === undefined ? id === undefined || call.id === id : call.place === place,
  );
  const known = calls[at];
  const given = argumentsOf(named.arguments);
  const more = given === undefined || given === '' ? {} : { arguments: given };
  const begins = known === undefined || (id !== undefined && id !== known.id && typeof named.name === 'string');
  if (!begins) return { index: at, ...more };
  if (typeof named.name !== 'string' || named.name === '') throw garbageFailure('a tool call without a name');
  const call: Call = { place, id: id ?? newCallId() };
  calls.push(call);
  return { index: calls.length - 1, id: call.id, name: named.name, ...more };
}
