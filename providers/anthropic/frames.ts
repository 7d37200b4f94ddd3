/** Reads the frames of a streamed message. Runs for every token: checks by hand, and only what is needed. */
import type { ChatEvent, TokenUsage } from '../../domain/text/chat.ts';
import type { FrameReader } from '../shared/eventBatches.ts';
import { type Fields, garbageFailure, isFields, parseJson } from '../shared/textFailures.ts';
import { failureOfError } from './errorReply.ts';
import { finishReason, readUsage, textIn } from './reply.ts';
import { sealedThought, thinkingDetail } from './thinking.ts';

interface ContentBlock {
  type: unknown;
  /** Index among the tool calls; -1 for other blocks. */
  call: number;
  written: boolean;
  /** Text of a thinking block, kept until its signature arrives. */
  text: string;
  signature: string;
}

export class AnthropicFrames implements FrameReader {
  upstreamId: string | undefined;
  upstreamModel: string | undefined;
  private readonly blocks = new Map<unknown, ContentBlock>();
  private calls = 0;
  private usage: TokenUsage | undefined;
  private finished = false;
  private begun = false;

  read(data: string, events: ChatEvent[]): boolean {
    const frame = parseJson(data);
    if (!isFields(frame)) throw garbageFailure('a frame that is no JSON object');
    switch (frame.type) {
      case 'content_block_delta':
        this.readDelta(frame, events);
        return false;
      case 'message_start':
        this.start(frame.message, events);
        return false;
      case 'content_block_start':
        this.startBlock(frame, events);
        return false;
      case 'content_block_stop':
        this.endBlock(frame.index, events);
        return false;
      case 'message_delta':
        this.end(frame, events);
        return false;
      case 'message_stop':
        if (!this.begun) throw garbageFailure('a message that never began');
        if (!this.finished) events.push({ type: 'finish', index: 0, reason: 'stop' });
        return true;
      case 'error':
        throw failureOfError(frame);
      default:
        // `ping` and types added later.
        return false;
    }
  }

  complete(): boolean {
    return this.finished;
  }

  private start(message: unknown, events: ChatEvent[]): void {
    if (!isFields(message)) throw garbageFailure('a message that is no object');
    this.begun = true;
    if (typeof message.id === 'string') this.upstreamId = message.id;
    if (typeof message.model === 'string') this.upstreamModel = message.model;
    this.tellUsage(message.usage, events);
  }

  private tellUsage(told: unknown, events: ChatEvent[]): void {
    if (!isFields(told)) return;
    const usage = readUsage(told, this.usage);
    if (usage === undefined) return;
    this.usage = usage;
    events.push({ type: 'usage', usage });
  }

  private startBlock({ index, content_block: told }: Fields, events: ChatEvent[]): void {
    if (!isFields(told)) throw garbageFailure('a block that is no object');
    const { type } = told;
    const call = type === 'tool_use' ? this.calls++ : -1;
    this.blocks.set(index, { type, call, written: false, text: textIn(told.thinking), signature: '' });
    if (type === 'tool_use') {
      const { id, name } = told;
      if (typeof id !== 'string' || typeof name !== 'string') throw garbageFailure('a tool call without a name');
      events.push({ type: 'delta', index: 0, delta: { tool_calls: [{ index: call, id, name }] } });
    } else if (type === 'redacted_thinking') {
      const sealed = sealedThought(Number(index), textIn(told.data));
      events.push({ type: 'delta', index: 0, delta: { reasoning_details: [sealed] } });
    } else if (type === 'text' && textIn(told.text) !== '') {
      events.push({ type: 'delta', index: 0, delta: { content: textIn(told.text) } });
    }
  }

  private readDelta({ index, delta }: Fields, events: ChatEvent[]): void {
    if (!isFields(delta)) throw garbageFailure('a delta that is no object');
    const block = this.blocks.get(index);
    switch (delta.type) {
      case 'text_delta':
        if (delta.text) events.push({ type: 'delta', index: 0, delta: { content: textIn(delta.text) } });
        return;
      case 'thinking_delta':
        if (block !== undefined) block.text += textIn(delta.thinking);
        if (delta.thinking) {
          events.push({ type: 'delta', index: 0, delta: { reasoning_content: textIn(delta.thinking) } });
        }
        return;
      case 'signature_delta':
        if (block !== undefined) block.signature += textIn(delta.signature);
        return;
      case 'input_json_delta': {
        const more = textIn(delta.partial_json);
        if (block === undefined || block.call < 0 || more === '') return;
        block.written = true;
        events.push({
          type: 'delta',
          index: 0,
          delta: { tool_calls: [{ index: block.call, arguments: more }] },
        });
      }
    }
  }

  private endBlock(index: unknown, events: ChatEvent[]): void {
    const block = this.blocks.get(index);
    if (block === undefined) return;
    this.blocks.delete(index);
    // A call without arguments needs an empty object.
    if (block.call >= 0 && !block.written) {
      events.push({
        type: 'delta',
        index: 0,
        delta: { tool_calls: [{ index: block.call, arguments: '{}' }] },
      });
    }
    if (block.type !== 'thinking' || block.signature === '') return;
    const detail = thinkingDetail(Number(index), block.text, block.signature);
    events.push({ type: 'delta', index: 0, delta: { reasoning_details: [detail] } });
  }

  private end({ delta, usage }: Fields, events: ChatEvent[]): void {
    if (isFields(delta) && typeof delta.stop_reason === 'string' && !this.finished) {
      this.finished = true;
      events.push({ type: 'finish', index: 0, reason: finishReason(delta.stop_reason) });
    }
    this.tellUsage(usage, events);
  }
}
