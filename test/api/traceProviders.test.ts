/** Spans of model calls: the attributes of OpenTelemetry's conventions, and no text of a request or an answer. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { traceMediaProvider, traceTextProvider } from '../../api/traceProviders.ts';
import type { ChatEvent } from '../../domain/text/chat.ts';
import { createLogger } from '../../infra/log.ts';
import { inSpan } from '../../infra/telemetry/spans.ts';
import { startTracing, type Tracing } from '../../infra/telemetry/startTracing.ts';
import type { MediaProvider } from '../../providers/shared/mediaProvider.ts';
import { chatRequest } from '../providers/chatRequest.ts';
import { type CollectedSpan, type Collector, startCollector } from '../stubs/collector.ts';
import { startTextWorld, type TextWorld } from './text/textWorld.ts';

const SECRET = 'a secret of the client';
const log = createLogger({ level: 'silent', name: 'test' });

let collector: Collector;
let tracing: Tracing;
let world: TextWorld;

beforeAll(async () => {
  collector = await startCollector();
  tracing = await startTracing({ otlpEndpoint: collector.endpoint, buildId: 'test' }, 'api', log);
  world = await startTextWorld();
});
afterAll(async () => {
  await world.close();
  await tracing.stop();
  await collector.close();
});

async function spanNamed(name: string): Promise<CollectedSpan> {
  await expect.poll(() => collector.spans.filter((span) => span.name === name).length).toBe(1);
  const found = collector.spans.find((span) => span.name === name);
  if (!found) throw new Error('no span');
  return found;
}

beforeEach(() => {
  collector.spans.length = 0;
});
afterEach(() => {
  expect(Buffer.concat(collector.bodies).toString('latin1')).not.toContain(SECRET);
});

const QUESTION = {
  ...{ model: 'gpt-stub', messages: [{ role: 'user', content: SECRET }], max_tokens: 50 },
  ...{ temperature: 0.5, top_p: 0.75, seed: 3, frequency_penalty: 0.25, presence_penalty: 1.5, stop: SECRET },
};
const ASKED = {
  ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'farebox.provider': 'stub' },
  ...{ 'gen_ai.request.model': 'gpt-stub', 'gen_ai.output.type': 'text', 'gen_ai.request.max_tokens': 50 },
  ...{ 'gen_ai.request.temperature': 0.5, 'gen_ai.request.top_p': 0.75 },
  ...{ 'gen_ai.request.seed': 3 },
  ...{ 'gen_ai.request.frequency_penalty': 0.25, 'gen_ai.request.presence_penalty': 1.5 },
};
const USAGE = {
  ...{ prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
  prompt_tokens_details: { cached_tokens: 4 },
};
const ANSWERED = {
  ...{ 'gen_ai.response.id': 'chatcmpl-stub', 'gen_ai.response.model': 'gpt-stub' },
  ...{ 'gen_ai.response.finish_reasons': ['stop'] },
  ...{ 'gen_ai.usage.input_tokens': 12, 'gen_ai.usage.output_tokens': 5, 'gen_ai.usage.cache_read.input_tokens': 4 },
};

describe('a conversation', () => {
  test.each([false, true])('has what was asked and what was answered, streamed: %s', async (stream) => {
    world.stub.next.push({ tokens: [SECRET], usage: USAGE });
    const response = await world.chat({ ...QUESTION, stream });
    await response.text();
    const span = await spanNamed('chat gpt-stub');
    expect(span).toMatchObject({ kind: 'CLIENT', failed: false, attributes: { ...ASKED, ...ANSWERED } });
    expect(span.traceId).toBe(response.headers.get('x-request-id'));
    // The call over HTTP belongs to it.
    const http = await spanNamed('POST 127.0.0.1');
    expect([http.traceId, http.parentSpanId]).toEqual([span.traceId, span.spanId]);
  });

  it('has several choices, and JSON as its output', async () => {
    world.stub.next.push({ tokens: ['{}'] });
    const body = { ...QUESTION, n: 2, response_format: { type: 'json_object' } };
    await (await world.chat(body)).text();
    expect((await spanNamed('chat gpt-stub')).attributes).toMatchObject({
      ...{ 'gen_ai.output.type': 'json', 'gen_ai.request.choice.count': 2 },
      'gen_ai.response.finish_reasons': ['stop', 'stop'],
    });
  });

  it('that the service breaks off fails by its class, with what it had said', async () => {
    world.stub.next.push({ tokens: ['one', ' two', ' three'], cutAfterFrames: 2 });
    await (await world.chat({ ...QUESTION, stream: true })).text();
    const { failed, attributes } = await spanNamed('chat gpt-stub');
    expect([failed, attributes['error.type'], attributes['gen_ai.response.id']]).toEqual([
      ...[true, 'UpstreamFailure', 'chatcmpl-stub'],
    ]);
  });

  it('that the service refuses fails as well', async () => {
    world.stub.next.push({ status: 500, body: { error: { message: SECRET } } });
    expect((await world.chat(QUESTION)).status).toBeGreaterThanOrEqual(500);
    expect((await spanNamed('chat gpt-stub')).failed).toBe(true);
  });
});

it('embeddings have their number of dimensions and their tokens', async () => {
  const provider = traceTextProvider(
    { name: 'entry', kind: 'openai' },
    {
      embed: async () => ({ vectors: [], promptTokens: 9 }),
      close: async () => undefined,
    },
  );
  const order = { upstreamModel: 'vectors', inputs: [SECRET], dimensions: 256, endUser: 'someone' };
  await inSpan({ name: 'request', kind: 'internal', root: true }, async () => {
    await provider.embed?.(order, { signal: new AbortController().signal });
  });
  expect((await spanNamed('embeddings vectors')).attributes).toEqual({
    ...{ 'gen_ai.operation.name': 'embeddings', 'gen_ai.provider.name': 'openai', 'farebox.provider': 'entry' },
    ...{ 'gen_ai.request.model': 'vectors', 'gen_ai.embeddings.dimension.count': 256, 'gen_ai.usage.input_tokens': 9 },
  });
});

it('a stream that its reader leaves ends its span, and the source', async () => {
  let isClosed = false;
  const source: AsyncIterableIterator<ChatEvent[]> = {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: async () => ({ done: false, value: [{ type: 'delta', index: 0, delta: { content: SECRET } }] }),
    async return() {
      isClosed = true;
      return { done: true, value: undefined };
    },
  };
  const provider = traceTextProvider(
    { name: 'entry', kind: 'openai' },
    { stream: async () => ({ events: source, upstreamId: 'left' }), close: async () => undefined },
  );
  await inSpan({ name: 'request', kind: 'internal', root: true }, async () => {
    const stream = await provider.stream?.(chatRequest(), { signal: new AbortController().signal });
    // Before the first event was read.
    await stream?.events[Symbol.asyncIterator]().return?.();
  });
  const { failed, attributes } = await spanNamed('chat gpt-stub');
  expect([isClosed, failed, attributes['gen_ai.response.id']]).toEqual([true, false, 'left']);
});

describe('media', () => {
  const entry = { name: 'entry', kind: 'fal' };
  const made = { path: 'a', contentType: 'image/png' };
  async function* bytes(): AsyncGenerator<Buffer> {
    yield Buffer.from(SECRET);
  }
  const provider = (): MediaProvider =>
    traceMediaProvider(entry, {
      makeImages: async () => [made, made],
      editImage: async () => made,
      speak: async () => ({ bytes: bytes() }),
      transcribe: async () => ({ text: SECRET }),
    });
  const common = { upstreamModel: 'maker', endUser: 'someone' };
  const context = { workFolder: '/tmp', signal: new AbortController().signal };
  const image = { path: 'a', contentType: 'image/png', width: 1, height: 1 };
  const flags = { safeMode: true, skipsThinking: false, format: 'png' } as const;
  const plain = { ...flags, styleReferences: [], hidesWatermark: false, searchesWeb: false };

  const CALLS: Record<string, { call: (media: MediaProvider) => Promise<unknown>; more: object }> = {
    'made images': {
      call: async (media) => media.makeImages?.({ ...common, ...plain, prompt: SECRET, count: 2, seed: 5 }, context),
      more: { 'gen_ai.output.type': 'image', 'gen_ai.request.choice.count': 2, 'gen_ai.request.seed': 5 },
    },
    'edited images': {
      call: async (media) => media.editImage?.({ ...common, ...flags, prompt: SECRET, images: [image] }, context),
      more: { 'gen_ai.output.type': 'image' },
    },
    speech: {
      async call(media) {
        const order = { ...common, text: SECRET, format: 'mp3', speed: 1, temperature: 0.5 } as const;
        const spoken = await media.speak?.(order, context);
        for await (const _piece of spoken?.bytes ?? []);
      },
      more: { 'gen_ai.output.type': 'speech', 'gen_ai.request.temperature': 0.5 },
    },
    transcripts: {
      async call(media) {
        const recording = { path: 'a', contentType: 'audio/wav', demuxer: 'wav', seconds: 1 };
        await media.transcribe?.({ ...common, recording, timestamps: false }, context);
      },
      more: { 'gen_ai.output.type': 'text' },
    },
  };

  test.each(Object.entries(CALLS))('%s have their model and their kind of output', async (_name, { call, more }) => {
    await inSpan({ name: 'request', kind: 'internal', root: true }, () => call(provider()));
    expect((await spanNamed('generate_content maker')).attributes).toEqual({
      ...{ 'gen_ai.operation.name': 'generate_content', 'gen_ai.provider.name': 'fal', 'farebox.provider': 'entry' },
      ...{ 'gen_ai.request.model': 'maker', ...more },
    });
  });
});
