/** Fields of OpenAI's chat clients beyond the published ones: with an effect, refused, or ignored and named. */
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rewriteChat } from '../../../api/text/rewriteChat.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

let world: TextWorld;
let client: OpenAI;

beforeAll(async () => {
  world = await startTextWorld();
  client = new OpenAI({ baseURL: world.api.baseUrl, apiKey: world.key, maxRetries: 0 });
});
beforeEach(() => {
  world.stub.received.length = 0;
});
afterAll(() => world.close());

const ASK = { model: 'gpt-stub', messages: [{ role: 'user', content: 'Hello there' }] } as const;
const sent = () => world.stub.received[0]?.body ?? {};

describe('fields without an effect', () => {
  const ignored = {
    include: ['reasoning'],
    metadata: { team: 'transport' },
    prediction: { type: 'content', content: 'Hello' },
    safety_identifier: 'user-1',
    service_tier: 'flex',
    store: true,
  };

  it.each([false, true])('are accepted and named in x-service-ignored (stream: %s)', async (stream) => {
    const response = await world.chat({ ...ignored, stream });
    expect([response.status, response.headers.get('x-service-ignored')]).toEqual([
      200,
      Object.keys(ignored).join(', '),
    ]);
    await response.text();
    for (const name of Object.keys(ignored)) expect(sent()[name]).toBeUndefined();
  });

  it('are not named where they are absent, null or false', async () => {
    const response = await world.chat({ service_tier: null, store: false, modalities: ['text'] });
    expect([response.status, response.headers.get('x-service-ignored')]).toEqual([200, null]);
  });
});

describe('fields with an effect', () => {
  it('logit_bias reaches the model', async () => {
    await client.chat.completions.create({ ...ASK, messages: [...ASK.messages], logit_bias: { '50256': -100 } });
    expect(sent().logit_bias).toEqual({ '50256': -100 });
  });

  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  it.each([
    ['the schema itself', schema, { name: 'answer', schema }],
    [
      "OpenAI's wrapper",
      { name: 'place', schema, strict: true, description: 'A city' },
      { name: 'place', schema, strict: true, description: 'A city' },
    ],
    ['a wrapper without a name', { schema }, { name: 'answer', schema }],
    [
      'a schema that describes a property named schema',
      { type: 'object', schema: {}, properties: { schema: {} } },
      { name: 'answer', schema: { type: 'object', schema: {}, properties: { schema: {} } } },
    ],
    ['an empty schema', {}, { name: 'answer', schema: {} }],
  ])('response_format reaches the model with a named schema: %s', async (_name, given, expected) => {
    const response = await world.chat({ response_format: { type: 'json_schema', json_schema: given } });
    expect(response.status).toBe(200);
    expect(sent().response_format).toEqual({ type: 'json_schema', json_schema: expected });
  });

  it('the text parts of a tool message reach the model as one text', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{}' } };
    const parts = ['18 ', 'degrees'].map((text) => ({ type: 'text', text }));
    const messages = [
      ...ASK.messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: parts },
    ];
    expect((await world.chat({ messages })).status).toBe(200);
    expect((sent().messages as unknown[]).at(-1)).toEqual({
      role: 'tool',
      tool_call_id: 'call_1',
      content: '18 degrees',
    });
  });

  it('web_search_options asks for a web search', () => {
    const brand = { name: 'service', aliases: [] } as unknown as Parameters<typeof rewriteChat>[1]['brand'];
    const body = { web_search_options: { search_context_size: 'low' } };
    expect(rewriteChat(body, { brand })).toEqual({ service_parameters: { enable_web_search: 'on' } });
    expect(rewriteChat({ web_search_options: null }, { brand })).toEqual({});
  });
});

describe('fields that would change the answer', () => {
  it.each([
    ['sound', { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } }, 'modalities'],
    ['functions', { functions: [{ name: 'look_up', parameters: {} }] }, 'functions'],
    ['a function call', { function_call: 'auto' }, 'function_call'],
    ['a bias out of bounds', { logit_bias: { '1': 101 } }, 'logit_bias'],
    ['a bias of a word', { logit_bias: { hello: 1 } }, 'logit_bias'],
  ])('refuse %s before the model is called', async (_name, fields, path) => {
    const response = await world.chat(fields);
    expect(response.status).toBe(400);
    expect(JSON.stringify(await response.json())).toContain(path);
    expect(world.stub.received).toEqual([]);
  });
});
