/** Events of a streamed response: their types, order and sequence numbers (TEXT-26). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ResponseWriter } from '../../../../api/text/responses/responseWriter.ts';
import { entryIdOf, eventsOf, type ResponsesWorld, type StreamEvent, startResponsesWorld } from './responsesWorld.ts';

let world: ResponsesWorld;

beforeAll(async () => {
  world = await startResponsesWorld();
});
afterAll(() => world.close());

const places = ({ name, data }: StreamEvent) => {
  const item = data.item as { type: string } | undefined;
  return [name, ...(item ? [item.type] : []), ...('output_index' in data ? [data.output_index] : [])].join(' ');
};

it('come in the published order with sequence numbers, and the last has the whole response', async () => {
  world.stub.next.push({
    reasoning: ['Hm', '.'],
    tokens: ['Let', ' me look.'],
    toolCalls: [
      { id: 'call_a', name: 'look', arguments: '{"a":1}' },
      { id: 'call_b', name: 'look', arguments: '{}' },
    ],
  });
  const tools = [{ type: 'function', name: 'look' }];
  const response = await world.respond({ stream: true, tools });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const events = eventsOf(await response.text());
  expect(events.map(places)).toEqual([
    'response.created',
    'response.output_item.added reasoning 0',
    'response.reasoning.delta 0',
    'response.reasoning.delta 0',
    'response.output_item.added message 1',
    'response.content_part.added 1',
    'response.output_text.delta 1',
    'response.output_text.delta 1',
    'response.output_item.added function_call 2',
    'response.function_call_arguments.delta 2',
    'response.function_call_arguments.delta 2',
    'response.output_item.added function_call 3',
    'response.function_call_arguments.delta 3',
    'response.output_item.done reasoning 0',
    'response.content_part.done 1',
    'response.output_item.done message 1',
    'response.output_item.done function_call 2',
    'response.output_item.done function_call 3',
    'response.completed',
  ]);
  expect(events.map(({ data }) => data.sequence_number)).toEqual(events.map((_, at) => at));
  expect(events.every(({ name, data }) => name === data.type)).toBe(true);
  const [first, last] = [events[0], events.at(-1)].map((event) => event?.data.response as Record<string, unknown>);
  const { id, created_at, model } = last ?? {};
  expect(first).toEqual({ id, object: 'response', created_at, model, status: 'in_progress', output: [] });
  const done = events.filter(({ name }) => name === 'response.output_item.done');
  expect(last).toMatchObject({ status: 'completed', output: done.map(({ data }) => data.item) });
  const { input_tokens, output_tokens } = (last?.usage ?? {}) as Record<string, number>;
  await world.settled();
  expect(await world.entryOf(entryIdOf(String(id)))).toMatchObject({
    promptTokens: input_tokens,
    completionTokens: output_tokens,
    amountNano: BigInt(input_tokens ?? 0) * 1_000n + BigInt(output_tokens ?? 0) * 2_000n,
  });
});

it('include a message also for an empty answer, which is not billed', async () => {
  world.stub.next.push({ tokens: [] });
  const events = eventsOf(await (await world.respond({ stream: true })).text());
  const last = events.at(-1)?.data.response as { id: string; output: object[] };
  expect(last.output).toMatchObject([{ type: 'message', content: [{ text: '' }] }]);
  await world.settled();
  expect(await world.entryOf(entryIdOf(last.id))).toBeUndefined();
});

describe('a stream whose service breaks off', () => {
  it.each([
    ['is cut', { cutAfterFrames: 4, pauseMs: 5 }],
    ['falls silent', { hang: 4 }],
    ['ends without a word', { endAfterFrames: 4 }],
  ])('and %s ends as failed, with the received part billed', async (_name, script) => {
    world.stub.next.push({ tokens: [' one', ' two', ' three', ' four', ' five'], ...script });
    const events = eventsOf(await (await world.respond({ stream: true })).text());
    const last = events.at(-1);
    expect(last?.name).toBe('response.failed');
    const failed = last?.data.response as { id: string; usage: { output_tokens: number } };
    expect(failed).toMatchObject({
      status: 'failed',
      error: { code: 'upstream_error', message: expect.any(String) },
      output: [{ type: 'message', status: 'in_progress', content: [{ text: ' one two three' }] }],
    });
    await world.settled();
    const sent = world.stub.received.at(-1)?.sentTokens;
    const entry = await world.entryOf(entryIdOf(failed.id));
    expect([entry?.completionTokens, failed.usage.output_tokens]).toEqual([sent, sent]);
    await expect.poll(async () => (await world.respond({})).status).toBe(200);
  });
});

it('report a search after the beginning, without a sequence number', () => {
  const writer = new ResponseWriter({
    heading: { id: 'chatcmpl-x', created: 1, model: 'm' },
    citations: [{ title: 'A page', url: 'https://a.example/', content: 'Words' }],
    sealedReasoning: false,
  });
  const [created, searched] = eventsOf(`${writer.begin()}data: [DONE]\n\n`);
  expect(created?.name).toBe('response.created');
  expect(searched).toEqual({
    name: 'response.web_search.done',
    data: {
      ...{ type: 'web_search_call', id: 'ws_chatcmpl-x', status: 'completed' },
      results: [{ index: 1, url: 'https://a.example/', title: 'A page', snippet: 'Words' }],
    },
  });
});
