/** Messages without content, in their usual forms, and the members of an answer: no model gets an empty list of parts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTextWorld, type TextWorld } from './textWorld.ts';

const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
const ASKS = { role: 'user', content: 'Hello there' };

let world: TextWorld;

beforeAll(async () => {
  world = await startTextWorld();
});
afterAll(() => world.close());

async function told(messages: object[]): Promise<unknown> {
  const response = await world.chat({ messages });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  return world.stub.received.at(-1)?.body.messages;
}

describe('an empty list of parts', () => {
  it('of an assistant with tool calls becomes null', async () => {
    const result = { role: 'tool', content: 'Found.', tool_call_id: CALL.id };
    const messages = await told([ASKS, { role: 'assistant', content: [], tool_calls: [CALL] }, result]);
    expect(messages).toMatchObject([ASKS, { role: 'assistant', content: null, tool_calls: [CALL] }, result]);
  });

  it('of an assistant without tool calls removes the message', async () => {
    expect(await told([ASKS, { role: 'assistant', content: [] }, ASKS])).toMatchObject([ASKS, ASKS]);
  });

  it.each(['user', 'system', 'developer'])('of role %s is the empty text', async (role) => {
    expect(await told([{ role, content: [] }, ASKS])).toEqual(await told([{ role, content: '' }, ASKS]));
  });

  it('of a tool is the empty text', async () => {
    const called = [ASKS, { role: 'assistant', content: null, tool_calls: [CALL] }];
    const result = (content: unknown) => ({ role: 'tool', content, tool_call_id: CALL.id });
    expect(await told([...called, result([])])).toEqual(await told([...called, result('')]));
  });

  it('causes no web lookup', async () => {
    const messages = [{ role: 'user', content: [] }];
    const response = await world.chat({ messages, service_parameters: { enable_web_scraping: true } });
    expect(response.status).toBe(200);
  });
});

describe('the name of the answer', () => {
  const messageOf = async (message: object): Promise<unknown> => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    world.stub.next = [{ body: { choices: [{ index: 0, finish_reason: 'stop', message }], usage } }];
    const response = await world.chat({ messages: [ASKS] });
    expect(response.status).toBe(200);
    return ((await response.json()) as { choices: { message: object }[] }).choices[0]?.message;
  };

  it.each([
    ['as the provider gave it', { role: 'assistant', content: 'Hi', name: 'Ada' }, 'Ada'],
    ['null without one', { role: 'assistant', content: 'Hi' }, null],
    ['null for one that is no text', { role: 'assistant', content: 'Hi', name: 7 }, null],
  ])('is %s', async (_what, message, name) => {
    expect(await messageOf(message)).toMatchObject({ content: 'Hi', name });
  });
});

describe('an empty message that is refused', () => {
  it.each([
    ['a text part without a letter', { role: 'user', content: [{ type: 'text', text: '' }] }],
    ['one of an assistant', { role: 'assistant', content: [{ type: 'text', text: '' }] }],
    ['a tool without content', { role: 'tool', tool_call_id: CALL.id }],
    ['a user without content', { role: 'user' }],
    ['a user whose content is null', { role: 'user', content: null }],
  ])('%s', async (_name, message) => {
    expect((await world.chat({ messages: [ASKS, message] })).status).toBe(400);
  });
});
