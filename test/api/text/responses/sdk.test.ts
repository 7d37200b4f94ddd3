/** The Responses client of the published OpenAI SDK, with each kind of provider. */
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entryIdOf, type ResponsesWorld, startResponsesWorld } from './responsesWorld.ts';

let world: ResponsesWorld;

beforeAll(async () => {
  world = await startResponsesWorld();
});
afterAll(() => world.close());

const MODELS = ['simulator-text', 'gpt-stub', 'claude-haiku-4-5'];
const TOOL = {
  type: 'function',
  name: 'weather',
  description: 'The weather of a town',
  parameters: { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] },
  strict: null,
} as const;
const CALLS = [{ id: 'call_a', name: 'weather', arguments: '{"town":"Oslo"}' }];
const BLOCKS = [
  { type: 'text', text: 'Let me look.' },
  { type: 'tool_use', id: 'call_a', name: 'weather', input: { town: 'Oslo' } },
] as const;

describe.each(MODELS)('%s', (model) => {
  it('answers with a message and its usage, billed to the last nano', async () => {
    const response = await world.client.responses.create({ model, input: 'Hello there' });
    expect(response.id).toMatch(/^resp_chatcmpl-[0-9a-f]{32}$/);
    expect(response).toMatchObject({ object: 'response', model, status: 'completed' });
    expect(response.output_text.length).toBeGreaterThan(5);
    expect(response.output).toEqual([
      {
        ...{ type: 'message', role: 'assistant', status: 'completed', id: expect.stringMatching(/^msg_/) },
        content: [{ type: 'output_text', text: response.output_text, annotations: [] }],
      },
    ]);
    const { input_tokens = 0, output_tokens = 0, total_tokens } = response.usage ?? {};
    expect(total_tokens).toBe(input_tokens + output_tokens);
    const entry = await world.entryOf(entryIdOf(response.id));
    expect(entry).toMatchObject({ promptTokens: input_tokens, completionTokens: output_tokens });
    if (model !== 'simulator-text') {
      expect(entry?.amountNano).toBe(BigInt(input_tokens) * 1_000n + BigInt(output_tokens) * 2_000n);
    }
  });

  it('streams the same words and usage', async () => {
    const whole = await world.client.responses.create({ model, input: 'Hello there' });
    const stream = world.client.responses.stream({ model, input: 'Hello there' });
    let text = '';
    for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta;
    const final = await stream.finalResponse();
    expect([text, final.output_text]).toEqual([whole.output_text, whole.output_text]);
    expect([final.status, final.usage]).toEqual(['completed', whole.usage]);
    expect(final.output).toMatchObject([{ type: 'message', status: 'completed' }]);
  });

  it('is incomplete at its limit of tokens', async () => {
    if (model.startsWith('claude'))
      world.anthropic.next.push({ stopReason: 'max_tokens' }, { stopReason: 'max_tokens' });
    const order = { model, input: 'Hello there', max_output_tokens: 3 };
    const response = await world.client.responses.create(order);
    const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
    expect(response).toMatchObject({ ...cut, output: [{ type: 'message', status: 'in_progress' }] });
    const types: string[] = [];
    for await (const event of await world.client.responses.create({ ...order, stream: true })) {
      types.push(event.type);
      if (event.type === 'response.incomplete') expect(event.response).toMatchObject(cut);
    }
    expect(types.at(-1)).toBe('response.incomplete');
  });
});

describe.each(['gpt-stub', 'claude-haiku-4-5'])('tools with %s', (model) => {
  const script = () =>
    model === 'gpt-stub'
      ? world.stub.next.push({ tokens: ['Let me look.'], toolCalls: CALLS })
      : world.anthropic.next.push({ content: BLOCKS });

  it('are called, and accept their results with the items of the answer sent back unchanged', async () => {
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'How is Oslo?' }];
    script();
    const first = await world.client.responses.create({ model, input, tools: [TOOL] });
    const call = { type: 'function_call', call_id: 'call_a', name: 'weather', status: 'completed' };
    expect(first.output.map(({ type }) => type)).toEqual(['function_call', 'message']);
    expect(first.output[0]).toMatchObject({ ...call, arguments: '{"town":"Oslo"}' });
    const items = first.output as OpenAI.Responses.ResponseInputItem[];
    const result = { type: 'function_call_output', call_id: 'call_a', output: '{"temp":-3}' } as const;
    const second = await world.client.responses.create({
      ...{ model, tools: [TOOL] },
      input: [...input, ...items, result, { role: 'user', content: 'So?' }],
    });
    expect(second.status).toBe('completed');
    if (model !== 'gpt-stub') return;
    const called = { name: 'weather', arguments: '{"town":"Oslo"}' };
    expect(world.stub.received.at(-1)?.body.messages).toEqual([
      { role: 'user', content: 'How is Oslo?' },
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [{ id: 'call_a', type: 'function', function: called }],
      },
      { role: 'tool', content: '{"temp":-3}', tool_call_id: 'call_a' },
      { role: 'user', content: 'So?' },
    ]);
  });

  it('are called in a stream, with their arguments in chunks', async () => {
    script();
    const stream = world.client.responses.stream({ model, input: 'How is Oslo?', tools: [TOOL] });
    let pieces = 0;
    let text = '';
    for await (const event of stream) {
      if (event.type !== 'response.function_call_arguments.delta') continue;
      pieces += 1;
      text += event.delta;
    }
    expect([pieces > 1, text]).toEqual([true, '{"town":"Oslo"}']);
    const { output } = await stream.finalResponse();
    expect(output).toMatchObject([
      { type: 'message', content: [{ text: 'Let me look.' }] },
      { type: 'function_call', call_id: 'call_a', name: 'weather', arguments: text, status: 'completed' },
    ]);
  });
});

it('a JSON schema reaches the service, and its answer is parsed', async () => {
  world.stub.next.push({ tokens: ['{"town":', '"Oslo"}'] });
  const schema = { type: 'object', properties: { town: { type: 'string' } } };
  const response = await world.client.responses.parse({
    ...{ model: 'gpt-stub', input: 'Which town?', instructions: 'Answer in JSON.' },
    text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } },
  });
  expect(response.output_parsed).toEqual({ town: 'Oslo' });
  const { body } = world.stub.received.at(-1) ?? {};
  expect(body?.response_format).toEqual({
    type: 'json_schema',
    json_schema: { name: 'answer', schema, strict: true },
  });
  expect(body?.messages).toEqual([
    { role: 'system', content: 'Answer in JSON.' },
    { role: 'user', content: 'Which town?' },
  ]);
});

it('puts reasoning first, encrypted only on request', async () => {
  const thinking = [
    { type: 'thinking', thinking: 'Hm.', signature: 'signed' },
    { type: 'text', text: 'Yes.' },
  ] as const;
  const order = { model: 'claude-haiku-4-5', input: 'Is it so?' };
  world.anthropic.next.push({ content: thinking }, { content: thinking }, { content: thinking });
  const plain = await world.client.responses.create(order);
  expect(plain.output).toMatchObject([{ type: 'reasoning', summary: ['Hm.'] }, { type: 'message' }]);
  expect(plain.output[0]).not.toHaveProperty('encrypted_content');
  const include = ['reasoning.encrypted_content'] as const;
  const sealed = await world.client.responses.create({ ...order, include: [...include] });
  expect(sealed.output[0]).toHaveProperty('encrypted_content', expect.stringMatching(/^[A-Za-z0-9+/=]+$/));
  const types: string[] = [];
  const stream = await world.client.responses.create({ ...order, include: [...include], stream: true });
  for await (const event of stream) {
    types.push(event.type);
    if (event.type !== 'response.completed') continue;
    const [thought, message] = event.response.output as { encrypted_content?: string }[];
    expect(thought?.encrypted_content).toBe((sealed.output[0] as { encrypted_content?: string }).encrypted_content);
    expect(message).toMatchObject({ type: 'message', content: [{ text: 'Yes.' }] });
  }
  expect(types).toContain('response.reasoning.delta');
});

it('throws the error classes of the SDK', async () => {
  const { client } = world;
  const input = 'Hello';
  await expect(client.responses.create({ model: 'nobody', input })).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  const hot = client.responses.create({ model: 'gpt-stub', input, temperature: 3 });
  await expect(hot).rejects.toBeInstanceOf(OpenAI.BadRequestError);
});
