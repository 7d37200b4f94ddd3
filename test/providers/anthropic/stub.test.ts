/** Checks the stub with Anthropic's own client, so that tests of our adapter may rely on it. */
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AnthropicStub, startAnthropicStub } from '../../stubs/anthropic.ts';

let stub: AnthropicStub;
beforeEach(async () => {
  stub = await startAnthropicStub();
});
afterEach(() => stub.close());

const client = (apiKey = 'stub-key') => new Anthropic({ apiKey, baseURL: stub.baseUrl, maxRetries: 0 });
const request = {
  model: 'claude-sonnet-5',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'Say hello.' }],
};

async function failure(work: PromiseLike<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  const error: unknown = await Promise.resolve(work).catch((reason: unknown) => reason);
  if (!(error instanceof Anthropic.APIError)) throw new Error(`no error of the SDK: ${String(error)}`);
  return error;
}

it('answers a message with thinking and tool calls, whole and streamed', async () => {
  stub.otherwise = {
    content: [
      { type: 'thinking', thinking: 'The user wants the weather.', signature: 'c2lnbmVk' },
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Bergen' } },
    ],
  };
  const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }];
  const whole = await client().messages.create({ ...request, tools });
  const streamed = await client()
    .messages.stream({ ...request, tools })
    .finalMessage();
  expect(whole).toMatchObject({ stop_reason: 'tool_use', usage: { input_tokens: 12, output_tokens: 9 } });
  expect(streamed.content).toMatchObject(whole.content);
  expect(streamed.usage).toMatchObject(whole.usage);
});

it('refuses the same requests as the service, with the same error names', async () => {
  const create = (change: object, key?: string) => client(key).messages.create({ ...request, ...change });
  expect(await failure(create({}, 'wrong'))).toBeInstanceOf(Anthropic.AuthenticationError);
  expect(await failure(create({ model: 'gpt' }))).toBeInstanceOf(Anthropic.NotFoundError);
  expect(await failure(create({ n: 2 }))).toMatchObject({ status: 400, type: 'invalid_request_error' });
  const error = { type: 'rate_limit_error', message: 'slow down' };
  stub.next.push({ status: 429, headers: { 'retry-after': '7' }, body: { type: 'error', error } });
  expect(await failure(create({}))).toBeInstanceOf(Anthropic.RateLimitError);
  stub.next.push({ errorAfterFrames: { frames: 3, type: 'overloaded_error' } });
  const streamed = client().messages.stream(request).finalMessage();
  expect(await failure(streamed)).toMatchObject({ type: 'overloaded_error' });
});
