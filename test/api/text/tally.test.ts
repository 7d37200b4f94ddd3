/** Where a service does not tell its usage, all that was sent to it is counted. */
import { expect, it } from 'vitest';
import { countCompletion, Tally } from '../../../api/text/tally.ts';
import type { ChatMessage, ChatRequest } from '../../../domain/text/chat.ts';
import { promptTokensOf } from '../../../domain/text/promptSize.ts';
import { chatRequest } from '../../providers/chatRequest.ts';

const ASKED: ChatMessage = { role: 'user', content: 'Go on.' };
const PLAIN = chatRequest({ messages: [ASKED] });
const WORDS = 'All that was thought of before. '.repeat(50);

type Size =
  | { type: 'image'; pixels: number }
  | { type: 'audio'; seconds: number }
  | { type: 'video'; seconds: number; audioSeconds: number };
const withMedia = (size: Size) => {
  const part = { ...size, bytes: Buffer.alloc(10), mediaType: 'any/thing' };
  return chatRequest({ messages: [{ role: 'user', content: [{ type: 'text', text: 'Go on.' }, part] }] });
};
const after = (message: Partial<Extract<ChatMessage, { role: 'assistant' }>>) =>
  chatRequest({ messages: [{ role: 'assistant', content: null, ...message }, ASKED] });

async function counted(request: ChatRequest): Promise<number> {
  const choices = [{ index: 0, message: { content: 'Yes.' }, finishReason: 'stop' as const }];
  const whole = await countCompletion(request, { choices, usage: undefined });
  const tally = new Tally();
  tally.add({ type: 'delta', index: 0, delta: { content: 'Yes.' } });
  const cut = await tally.count(request, false);
  expect([whole.counted, cut]).toEqual([true, whole]);
  return whole.usage.promptTokens;
}

it.each<[string, ChatRequest, number]>([
  ['a picture', withMedia({ type: 'image', pixels: 10 }), 2_000],
  ['a recording', withMedia({ type: 'audio', seconds: 20 }), 1_000],
  ['a film', withMedia({ type: 'video', seconds: 5, audioSeconds: 5 }), 4_250],
  ['what was thought', after({ reasoning_content: WORDS }), 300],
  [
    'what was called, and with what',
    after({ tool_calls: [{ id: '1', type: 'function', function: { name: 'look_up', arguments: WORDS } }] }),
    300,
  ],
  [
    'the schema of the answer',
    chatRequest({
      messages: [ASKED],
      responseFormat: { type: 'json_schema', json_schema: { name: 'answer', description: WORDS } },
    }),
    300,
  ],
])('%s counts, and no more than was held for it', async (_name, request, least) => {
  const prompt = await counted(request);
  expect(prompt).toBeGreaterThanOrEqual((await counted(PLAIN)) + least);
  expect(prompt).toBeLessThanOrEqual(promptTokensOf(request));
});
