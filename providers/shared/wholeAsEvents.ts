import type { ChatDelta, ChatEvent, Completion } from '../../domain/text/chat.ts';
import type { ChatStream } from './textProvider.ts';

/** The events of a stream that would have said the same. */
function wholeAsEvents({ choices, usage }: Completion): ChatEvent[] {
  const events = choices.flatMap(({ index, message, finishReason, logprobs }): ChatEvent[] => {
    const { content, tool_calls: calls, ...rest } = message;
    const delta: ChatDelta = { ...rest };
    if (content !== null && content !== '') delta.content = content;
    if (calls !== undefined) {
      delta.tool_calls = calls.map((call, at) => ({ index: at, id: call.id, ...call.function }));
    }
    const told = { type: 'delta', index, delta, ...(logprobs === undefined ? {} : { logprobs }) } as const;
    const finish = { type: 'finish', index, reason: finishReason } as const;
    return Object.keys(delta).length > 0 || logprobs !== undefined ? [told, finish] : [finish];
  });
  return usage === undefined ? events : [...events, { type: 'usage', usage }];
}

/** Of a service that does not stream: all of it came at once. */
export function wholeAsStream(completion: Completion): ChatStream {
  async function* once(): AsyncGenerator<ChatEvent[]> {
    yield wholeAsEvents(completion);
  }
  return { events: once(), upstreamId: completion.upstreamId };
}
