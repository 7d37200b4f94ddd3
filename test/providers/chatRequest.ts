import type { ChatEvent, ChatRequest, TokenUsage } from '../../domain/text/chat.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import type { ChatStream, TextCallContext } from '../../providers/shared/textProvider.ts';

export function chatRequest(change: Partial<ChatRequest> = {}): ChatRequest {
  return {
    upstreamModel: 'gpt-stub',
    messages: [{ role: 'user', content: 'Say hello.' }],
    sampling: {},
    n: 1,
    maxTokens: 100,
    endUser: 'end-user-1',
    ...change,
  };
}

export function context(signal: AbortSignal = new AbortController().signal): TextCallContext {
  return { signal };
}

export async function failureOf(work: PromiseLike<unknown>): Promise<UpstreamFailure> {
  const error: unknown = await Promise.resolve(work).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof UpstreamFailure)) throw new Error(`no UpstreamFailure: ${String(error)}`, { cause: error });
  return error;
}

export interface Collected {
  /** Index: choice. */
  content: string[];
  reasoning: string[];
  calls: { id: string; name: string; arguments: string }[];
  finish: (string | undefined)[];
  usage: TokenUsage | undefined;
  events: ChatEvent[];
  batches: number;
  failure: UpstreamFailure | undefined;
}

/** Collects a stream as its client sees it at the end. */
export async function collect(stream: ChatStream): Promise<Collected> {
  const all: Collected = {
    content: [],
    reasoning: [],
    calls: [],
    finish: [],
    usage: undefined,
    events: [],
    batches: 0,
    failure: undefined,
  };
  try {
    for await (const events of stream.events) {
      all.batches += 1;
      for (const event of events) add(all, event);
    }
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    all.failure = error;
  }
  return all;
}

function add(all: Collected, event: ChatEvent): void {
  all.events.push(event);
  if (event.type === 'usage') all.usage = event.usage;
  if (event.type === 'finish') all.finish[event.index] = event.reason;
  if (event.type !== 'delta') return;
  const { index, delta } = event;
  all.content[index] = (all.content[index] ?? '') + (delta.content ?? '');
  all.reasoning[index] = (all.reasoning[index] ?? '') + (delta.reasoning_content ?? '');
  for (const { index: at, id, name, arguments: more = '' } of delta.tool_calls ?? []) {
    const call = all.calls[at] ?? { id: id ?? '', name: name ?? '', arguments: '' };
    call.arguments += more;
    all.calls[at] = call;
  }
}
