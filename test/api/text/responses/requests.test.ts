/** Accepted fields and their effects, and invalid ones with the name of the field (TEXT-24). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { png } from '../pictures.ts';
import { type ResponsesWorld, startResponsesWorld } from './responsesWorld.ts';

const PIXEL = `data:image/png;base64,${png(64, 64).toString('base64')}`;
const NOTE = `data:text/plain;base64,${Buffer.from('A note.').toString('base64')}`;

let world: ResponsesWorld;

beforeAll(async () => {
  world = await startResponsesWorld();
});
afterAll(() => world.close());

const user = (...content: object[]) => [{ type: 'message', role: 'user', content }];
const said = (text: string) => ({ type: 'input_text', text });
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
const called = (...ids: string[]) =>
  ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }));
const output = (id: string, value: unknown) => ({ type: 'function_call_output', call_id: id, output: value });

async function askedOf(body: object): Promise<Record<string, unknown>> {
  const response = await world.respond(body);
  expect([response.status, response.status === 200 ? '' : await response.text()]).toEqual([200, '']);
  return world.stub.received.at(-1)?.body as Record<string, unknown>;
}

describe('the messages of an input that is', () => {
  it.each<[string, unknown, unknown[]]>([
    ['a string', 'Hello', [{ role: 'user', content: 'Hello' }]],
    ['a message without a type', [{ role: 'user', content: 'Hello' }], [{ role: 'user', content: 'Hello' }]],
    [
      'parts by the names of chat, in a message without a type',
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image_url', image_url: { url: PIXEL } },
          ],
        },
      ],
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image_url', image_url: { url: PIXEL } },
          ],
        },
      ],
    ],
    [
      'a picture as a string',
      user(said('a'), { type: 'input_image', image_url: PIXEL, detail: 'auto' }),
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image_url', image_url: { url: PIXEL, detail: 'auto' } },
          ],
        },
      ],
    ],
    [
      'a file as its text',
      user(said('a'), { type: 'input_file', file_data: NOTE, filename: 'n.txt' }),
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'n.txt\n\nA note.' },
          ],
        },
      ],
    ],
    [
      'the items of one turn, in whatever order, as one message',
      [
        { role: 'user', content: 'a' },
        { type: 'reasoning', id: 'rs_1', summary: ['hm'] },
        call('1'),
        {
          type: 'message',
          id: 'm',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'b' }],
        },
        call('2'),
        output('1', 'x'),
        output('2', { y: 1 }),
      ],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b', tool_calls: called('1', '2') },
        { role: 'tool', content: 'x', tool_call_id: '1' },
        { role: 'tool', content: '{"y":1}', tool_call_id: '2' },
      ],
    ],
    [
      'results that are lists of texts, or null',
      [{ role: 'user', content: 'a' }, call('1'), call('2'), output('1', [said('x'), said('y')]), output('2', null)],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, tool_calls: called('1', '2') },
        { role: 'tool', content: 'xy', tool_call_id: '1' },
        { role: 'tool', content: 'null', tool_call_id: '2' },
      ],
    ],
    [
      'without references, searches and empty words',
      [
        { role: 'system', content: 'be brief' },
        { type: 'item_reference', id: 'x' },
        { type: 'web_search_call', id: 'ws', status: 'completed' },
        { role: 'assistant', content: [{ type: 'output_text', text: '', annotations: [] }] },
        { role: 'user', content: [said(''), said('a')] },
      ],
      [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: [{ type: 'text', text: 'a' }] },
      ],
    ],
  ])('%s', async (_name, input, messages) => {
    expect((await askedOf({ input })).messages).toEqual(messages);
  });
});

describe('a field', () => {
  const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }];
  const nested = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };

  it.each<[string, object, object]>([
    ['max_output_tokens', { max_output_tokens: 7 }, { max_tokens: 7 }],
    ['temperature and top_p', { temperature: 0.5, top_p: 0.4 }, { temperature: 0.5, top_p: 0.4 }],
    ['text.format', { text: { format: { type: 'json_object' } } }, { response_format: { type: 'json_object' } }],
    ['a flat tool', { tools }, { tools: [nested] }],
    ['a nested tool', { tools: [nested] }, { tools: [nested] }],
    [
      'tool_choice by name',
      { tools, tool_choice: { type: 'function', function: { name: 'f' } } },
      { tool_choice: { type: 'function', function: { name: 'f' } } },
    ],
    ['parallel_tool_calls', { tools, parallel_tool_calls: false }, { parallel_tool_calls: false }],
  ])('%s reaches the service', async (_name, body, asked) => {
    expect(await askedOf(body)).toMatchObject(asked);
  });

  it.each<[string, object]>([
    ['state that nobody keeps', { store: true, previous_response_id: 'resp_1', conversation: 'c', background: false }],
    [
      'what the published API ignores',
      { metadata: { a: 1 }, n: 5, stop: ['x'], seed: 3, user: 'u', prompt_cache_key: 'k' },
    ],
    ['what other clients send', { truncation: 'auto', service_tier: 'auto', safety_identifier: 's', top_logprobs: 2 }],
    [
      'hosted tools, with the choice among them',
      {
        tools: [
          { type: 'code_interpreter', container: {} },
          { type: 'file_search' },
          { type: 'computer_use_preview' },
          { type: 'mcp' },
        ],
        tool_choice: 'auto',
        parallel_tool_calls: true,
      },
    ],
    ['a field that nobody listed', { temprature: 1, logit_bias: { a: 1 }, verbosity: null }],
    ['other parameters of its own', { service_parameters: { anything: 1, strip_thinking_response: 'yes' } }],
    ['settings in the name of the model', { model: 'gpt-stub:enable_web_search=on' }],
  ])('%s is accepted without effect', async (_name, body) => {
    const { messages, ...plain } = await askedOf({});
    expect(await askedOf(body)).toEqual({ messages, ...plain });
  });
});

describe('a request that is refused with 400 before any call:', () => {
  const message = (content: unknown, role = 'user') => ({ input: [{ type: 'message', role, content }] });
  const tool = (rest: object) => ({ tools: [{ type: 'function', ...rest }] });

  it.each<[string, object, string]>([
    ['no input', { input: undefined }, 'input'],
    ['an input of nothing', { input: [] }, 'input'],
    ['an input that is a number', { input: 3 }, 'input'],
    ['an input of reasoning only', { input: [{ type: 'reasoning', summary: [] }] }, 'input'],
    ['an unknown item', { input: [{ type: 'poem' }] }, 'input'],
    ['an unknown role', message('a', 'tool'), 'input'],
    ['an unknown part', message([{ type: 'input_audio' }]), 'input'],
    ['a part of chat in a typed message', message([{ type: 'text', text: 'a' }]), 'input'],
    ['a picture of another detail', message([{ type: 'input_image', image_url: PIXEL, detail: 'original' }]), 'input'],
    ['a picture by id', message([{ type: 'input_image', file_id: 'f' }]), 'input'],
    ['a picture of the assistant', message([{ type: 'input_image', image_url: PIXEL }], 'assistant'), 'input'],
    ['a file by id', message([{ type: 'input_file', file_id: 'f' }]), 'input'],
    ['a call without an id', { input: [{ type: 'function_call', name: 'f', arguments: '' }] }, 'input'],
    ['a result of nothing', { input: [{ type: 'function_call_output', call_id: '1' }] }, 'input'],
    ['no room for an answer', { max_output_tokens: 0 }, 'max_output_tokens'],
    ['half a token', { max_output_tokens: 1.5 }, 'max_output_tokens'],
    ['a temperature above 2', { temperature: 2.1 }, 'temperature'],
    ['top_p above 1', { top_p: 1.1 }, 'top_p'],
    ['an unknown effort', { reasoning: { effort: 'huge' } }, 'reasoning'],
    ['an unknown summary', { reasoning: { summary: 'long' } }, 'reasoning'],
    ['a tool without a name', tool({ description: 'x' }), 'tools'],
    ['a tool without a type', { tools: [{ name: 'f' }] }, 'tools'],
    ['a search of another size', { tools: [{ type: 'web_search', search_context_size: 'huge' }] }, 'tools'],
    ['eleven handles', { tools: [{ type: 'x_search', allowed_x_handles: Array(11).fill('a') }] }, 'tools'],
    [
      'a flat choice of a tool',
      { ...tool({ name: 'f' }), tool_choice: { type: 'function', name: 'f' } },
      'tool_choice',
    ],
    ['an unknown choice', { ...tool({ name: 'f' }), tool_choice: 'any' }, 'tool_choice'],
    ['an unknown format', { text: { format: { type: 'xml' } } }, 'text'],
    ['a schema without a name', { text: { format: { type: 'json_schema', schema: {} } } }, 'text'],
    ['eleven fallbacks', { fallbacks: Array(11).fill({ model: 'gpt-second' }) }, 'fallbacks'],
    ['a fallback without a model', { fallbacks: [{}] }, 'fallbacks'],
    ['an empty end user', { anon_user_id: '' }, 'anon_user_id'],
    ['an end user of two', { anon_user_id: 'a||b' }, 'anon_user_id'],
    ['include that is no list', { include: 'all' }, 'include'],
    ['stream that is no boolean', { stream: 'yes' }, 'stream'],
    [
      'a search that is neither on nor off',
      { service_parameters: { enable_web_search: 'maybe' } },
      'service_parameters',
    ],
  ])('%s', async (_name, body, field) => {
    const before = world.stub.received.length;
    const response = await world.respond(body);
    const told = (await response.json()) as {
      error: string;
      details: Record<string, unknown>;
      issues: object[];
    };
    expect([response.status, told.error]).toEqual([400, 'Invalid request parameters']);
    if (field !== '') expect(Object.keys(told.details)).toContain(field);
    expect(told.issues.length).toBeGreaterThan(0);
    expect(world.stub.received).toHaveLength(before);
  });

  it('an error inside a long input, with its position', async () => {
    const input = [
      { role: 'user', content: 'a' },
      { role: 'user', content: [{ type: 'input_text' }] },
    ];
    const { issues } = (await (await world.respond({ input })).json()) as { issues: { message: string }[] };
    expect(issues[0]?.message).toMatch(/^1\.content: 0\.text: /);
  });

  it('a missing model, with its own message', async () => {
    const response = await world.respond({ model: undefined });
    expect([response.status, await response.json()]).toEqual([400, { error: 'model is required' }]);
  });
});

describe('a missing feature, reported under the field of this API:', () => {
  it.each<[string, object, string]>([
    ['pictures', { model: 'gpt-plain', input: user({ type: 'input_image', image_url: PIXEL }) }, 'input'],
    ['tools', { model: 'gpt-plain', tools: [{ type: 'function', name: 'f' }] }, 'tools'],
    ['formats', { model: 'gpt-plain', text: { format: { type: 'json_object' } } }, 'text'],
    ['end-to-end encryption', { model: 'gpt-sealed' }, 'model'],
    ['search by tool', { tools: [{ type: 'web_search' }] }, 'service_parameters'],
    ['search by flag', { web_search: true }, 'service_parameters'],
    ['search by parameter', { service_parameters: { enable_web_search: 'auto' } }, 'service_parameters'],
  ])('%s', async (_name, body, field) => {
    const response = await world.respond(body);
    const { details } = (await response.json()) as { details: Record<string, unknown> };
    expect([response.status, Object.keys(details)]).toEqual([400, ['_errors', field]]);
  });

  it('except that an encrypted model answers without encryption', async () => {
    const response = await world.respond({ model: 'gpt-sealed', service_parameters: { enable_e2ee: false } });
    expect(response.status).toBe(200);
  });
});
