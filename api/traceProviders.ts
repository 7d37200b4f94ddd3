/**
 * Records each call to a provider that answers at once as a span with the attributes of OpenTelemetry's semantic
 * conventions for generative AI. Texts, media and what a client calls its end users are never among them.
 */
import type { ChatEvent, ChatRequest, Completion, FinishReason, TokenUsage } from '../domain/text/chat.ts';
import { inSpan, isRecording, type Note, type SpanAttributes, type SpanStart } from '../infra/telemetry/spans.ts';
import type { MediaProvider, Speech } from '../providers/shared/mediaProvider.ts';
import type { ChatStream, TextProvider } from '../providers/shared/textProvider.ts';
import { type StreamEnds, WatchedEvents } from '../providers/shared/watchedEvents.ts';

/** Entry of the configuration. */
interface TracedEntry {
  name: string;
  kind: string;
}

/** The same provider while nothing is recorded, which then costs no call anything. */
export function traceTextProvider(entry: TracedEntry, provider: TextProvider): TextProvider {
  if (!isRecording()) return provider;
  const traced: TextProvider = { ...provider };
  const { complete, stream, embed } = provider;
  const chatSpan = (order: ChatRequest) => spanOf(entry, { operation: 'chat', order, more: chatAttributes(order) });
  if (complete) {
    traced.complete = (request, context) =>
      inSpan(chatSpan(request), async (note) => {
        const completion = await complete(request, context);
        note(completionAttributes(completion));
        return completion;
      });
  }
  if (stream) {
    traced.stream = (request, context) => untilEnd(chatSpan(request), () => stream(request, context), watchChat);
  }
  if (embed) {
    traced.embed = (order, context) => {
      const more = defined({ 'gen_ai.embeddings.dimension.count': order.dimensions });
      return inSpan(spanOf(entry, { operation: 'embeddings', order, more }), async (note) => {
        const found = await embed(order, context);
        note(defined({ 'gen_ai.usage.input_tokens': found.promptTokens }));
        return found;
      });
    };
  }
  return traced;
}

/** Pictures, speech and transcripts. Cut-outs and enlargements are no calls of a generative model. */
export function traceMediaProvider(entry: TracedEntry, provider: MediaProvider): MediaProvider {
  if (!isRecording()) return provider;
  const traced: MediaProvider = { ...provider };
  const { editImage, makeImages, speak, transcribe } = provider;
  const mediaSpan = (order: { upstreamModel: string }, type: 'image' | 'speech' | 'text', more?: SpanAttributes) =>
    spanOf(entry, { operation: 'generate_content', order, more: { 'gen_ai.output.type': type, ...more } });
  if (editImage) traced.editImage = (edit, context) => inSpan(mediaSpan(edit, 'image'), () => editImage(edit, context));
  if (makeImages) {
    traced.makeImages = (order, context) => {
      const { seed, count } = order;
      const more = defined({ 'gen_ai.request.seed': seed, 'gen_ai.request.choice.count': severalOf(count) });
      return inSpan(mediaSpan(order, 'image', more), () => makeImages(order, context));
    };
  }
  if (speak) {
    traced.speak = (order, context) => {
      const { temperature, topP } = order;
      const more = defined({ 'gen_ai.request.temperature': temperature, 'gen_ai.request.top_p': topP });
      return untilEnd(mediaSpan(order, 'speech', more), () => speak(order, context), watchSpeech);
    };
  }
  if (transcribe) {
    traced.transcribe = (order, context) => inSpan(mediaSpan(order, 'text'), () => transcribe(order, context));
  }
  return traced;
}

interface CallStart {
  operation: 'chat' | 'embeddings' | 'generate_content';
  order: { upstreamModel: string };
  more: SpanAttributes;
}

function spanOf({ name, kind }: TracedEntry, { operation, order: { upstreamModel }, more }: CallStart): SpanStart {
  const attributes = {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': kind,
    'gen_ai.request.model': upstreamModel,
    'farebox.provider': name,
    ...more,
  };
  return { name: `${operation} ${upstreamModel}`, kind: 'client', attributes };
}

/** Stop sequences are texts of the client. */
function chatAttributes({ sampling, maxTokens, n, responseFormat }: ChatRequest): SpanAttributes {
  const isJson = responseFormat !== undefined && responseFormat.type !== 'text';
  return defined({
    'gen_ai.output.type': isJson ? 'json' : 'text',
    'gen_ai.request.max_tokens': maxTokens,
    'gen_ai.request.choice.count': severalOf(n),
    'gen_ai.request.temperature': sampling.temperature,
    'gen_ai.request.top_p': sampling.top_p,
    'gen_ai.request.top_k': sampling.top_k,
    'gen_ai.request.frequency_penalty': sampling.frequency_penalty,
    'gen_ai.request.presence_penalty': sampling.presence_penalty,
    'gen_ai.request.seed': sampling.seed,
  });
}

/** The conventions leave one choice out. */
function severalOf(count: number): number | undefined {
  return count === 1 ? undefined : count;
}

function completionAttributes({ choices, usage, ...named }: Completion): SpanAttributes {
  const reasons = choices.map(({ finishReason }) => finishReason);
  return responseAttributes(named, usage, reasons);
}

function responseAttributes(
  { upstreamId, upstreamModel }: Pick<ChatStream, 'upstreamId' | 'upstreamModel'>,
  usage: TokenUsage | undefined,
  reasons: readonly FinishReason[],
): SpanAttributes {
  return defined({
    'gen_ai.response.id': upstreamId,
    'gen_ai.response.model': upstreamModel,
    'gen_ai.response.finish_reasons': reasons.length === 0 ? undefined : [...reasons],
    'gen_ai.usage.input_tokens': usage?.promptTokens,
    'gen_ai.usage.output_tokens': usage?.completionTokens,
    'gen_ai.usage.cache_read.input_tokens': usage?.cachedTokens || undefined,
    'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWriteTokens || undefined,
  });
}

type Optional<T> = { [Key in keyof T]: T[Key] | undefined };

function defined(attributes: Optional<SpanAttributes>): SpanAttributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined)) as SpanAttributes;
}

/** Wraps an answer so that its end is reported. */
type Watch<T> = (answer: T, note: Note, ends: StreamEnds) => T;

/** The span lasts until the end of the answer; the answer is passed on when it begins. */
function untilEnd<T>(start: SpanStart, open: () => Promise<T>, watch: Watch<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const recorded = inSpan(start, async (note) => {
      const answer = await open();
      await new Promise<void>((end, fail) => {
        resolve(watch(answer, note, { done: end, stopped: end, failed: fail }));
      });
    });
    // After the beginning its reader gets the error, and this has no effect.
    recorded.catch(reject);
  });
}

function watchChat(stream: ChatStream, note: Note, ends: StreamEnds): ChatStream {
  const reasons = new Map<number, FinishReason>();
  let usage: TokenUsage | undefined;
  const noteEvent = (event: ChatEvent) => {
    if (event.type === 'finish') reasons.set(event.index, event.reason);
    else if (event.type === 'usage') usage = event.usage;
  };
  const finish = (end: () => void) => {
    const ordered = [...reasons].sort(([left], [right]) => left - right).map(([, reason]) => reason);
    note(responseAttributes(stream, usage, ordered));
    end();
  };
  const events = new WatchedEvents(watchEach(stream.events, noteEvent), {
    done: () => finish(ends.done),
    stopped: () => finish(ends.stopped),
    failed: (error) => finish(() => ends.failed(error)),
  });
  // Other members, which may become known later, are read from the stream itself.
  return Object.create(stream, { events: { value: events, enumerable: true } });
}

/** Passes each event to `noteEvent` before the reader gets it. */
function watchEach(
  batches: AsyncIterable<ChatEvent[]>,
  noteEvent: (event: ChatEvent) => void,
): AsyncIterable<ChatEvent[]> {
  return {
    [Symbol.asyncIterator]() {
      const source = batches[Symbol.asyncIterator]();
      return {
        async next() {
          const step = await source.next();
          if (!step.done) for (const event of step.value) noteEvent(event);
          return step;
        },
        return: async () => (await source.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}

function watchSpeech({ bytes }: Speech, _note: Note, ends: StreamEnds): Speech {
  return { bytes: new WatchedEvents(bytes, ends) };
}
