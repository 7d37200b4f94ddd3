/** Local token counts when a service reports no usage or too little. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { countCompletion, Tally } from '../../../api/text/tally.ts';
import type { ChatEvent, ChatMessage, ChatRequest, TokenUsage } from '../../../domain/text/chat.ts';
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
    'what was thought, where its details alone say it',
    after({
      content: 'So.',
      reasoning_details: [{ type: 'thinking', format: 'anthropic-claude-v1', text: WORDS, data: 'c2lnbmVk' }],
    }),
    300,
  ],
  [
    'what was called, and with what',
    after({ tool_calls: [{ id: '1', type: 'function', function: { name: 'look_up', arguments: WORDS } }] }),
    300,
  ],
  [
    'the schema of the answer',
    chatRequest({
      messages: [ASKED],
      responseFormat: { type: 'json_schema', json_schema: { name: 'answer', schema: {}, description: WORDS } },
    }),
    300,
  ],
])('counts %s, and no more than was held for it', async (_name, request, least) => {
  const prompt = await counted(request);
  expect(prompt).toBeGreaterThanOrEqual((await counted(PLAIN)) + least);
  expect(prompt).toBeLessThanOrEqual(promptTokensOf(request));
});

describe('an answer whose service reports', () => {
  const usage = (completionTokens: number): TokenUsage => ({
    ...{ promptTokens: 10, cachedTokens: 4, cacheWriteTokens: 0, completionTokens, reasoningTokens: 0 },
  });
  const text = (content: string): ChatEvent => ({ type: 'delta', index: 0, delta: { content } });
  const call = (words: string): ChatEvent => ({
    ...{ type: 'delta', index: 0 },
    delta: { tool_calls: [{ index: 0, id: '1', name: 'look_up', arguments: words }] },
  });
  const told = (completionTokens: number): ChatEvent => ({ type: 'usage', usage: usage(completionTokens) });
  const streamed = async (...events: ChatEvent[]) => {
    const tally = new Tally();
    for (const event of events) tally.add(event);
    return await tally.count(PLAIN, true);
  };
  const whole = (content: string, completionTokens: number, request = PLAIN) => {
    const choices = [{ index: 0, message: { content }, finishReason: 'stop' as const }];
    return countCompletion(request, { choices, usage: usage(completionTokens) });
  };

  it.each([
    ['nothing of it', () => whole(WORDS, 0)],
    ['a single token of it', () => whole(WORDS, 1)],
    ['nothing of its stream', () => streamed(text(WORDS), told(0))],
    ['nothing of its calls', () => streamed(call(WORDS), told(0))],
    ['half of its stream and then no more', () => streamed(text(WORDS), told(350), text(WORDS), text(WORDS))],
  ])('%s is counted locally', async (_name, count) => {
    const { usage: found, counted: isOurs } = await count();
    expect([isOurs, found.promptTokens, found.cachedTokens]).toEqual([true, 10, 4]);
    expect(found.completionTokens).toBeGreaterThan(300);
  });

  it.each([
    ['a count a little below ours', () => whole(WORDS, 330), 330],
    ['more than can be seen', () => whole('Yes.', 500), 500],
    ['all of its stream at its end', () => streamed(text(WORDS), told(10), text(WORDS), told(690)), 690],
    ['few tokens of a text that is encrypted', () => whole(WORDS, 5, { ...PLAIN, e2eeHeaders: {} }), 5],
  ])('%s keeps that count', async (_name, count, completionTokens) => {
    expect(await count()).toEqual({ usage: usage(completionTokens), counted: false });
  });
});

describe('an encrypted answer without usage', () => {
  /** Bytes that encryption adds to a text: a public key, a nonce and a tag. */
  const sealed = (bytes: number) => randomBytes(93 + bytes).toString('hex');
  const request = chatRequest({ messages: [{ role: 'user', content: sealed(400) }], e2eeHeaders: {} });
  const delta = (content: string): ChatEvent => ({ type: 'delta', index: 0, delta: { content } });

  it.each([
    ['a token for each piece that is shorter than one', 100, 3, 100],
    ['a token for each four bytes of longer pieces', 100, 40, 1_000],
  ])('counts %s', async (_rule, pieces, bytes, completionTokens) => {
    const tally = new Tally();
    for (let count = 0; count < pieces; count += 1) tally.add(delta(sealed(bytes)));
    const { usage } = await tally.countLeft(request);
    expect(usage.completionTokens).toBe(completionTokens);
    // 100 for the text, plus the message frame.
    expect(usage.promptTokens).toBeGreaterThanOrEqual(100);
    expect(usage.promptTokens).toBeLessThan(120);
  });

  it('counts a complete answer by its bytes', async () => {
    const choices = [{ index: 0, message: { content: sealed(400) }, finishReason: 'stop' as const }];
    const { usage } = await countCompletion(request, { choices, usage: undefined });
    expect(usage.completionTokens).toBe(100);
  });

  it('counts pieces of 77 random bytes as one token each', async () => {
    const tally = new Tally();
    for (let count = 0; count < 100; count += 1) tally.add(delta(randomBytes(77).toString('hex')));
    expect((await tally.countLeft(request)).usage.completionTokens).toBe(100);
  });

  it('uses the usage reported early when that is more', async () => {
    const tally = new Tally();
    tally.add(delta(sealed(3)));
    const usage = { promptTokens: 10, cachedTokens: 0, cacheWriteTokens: 0 };
    tally.add({ type: 'usage', usage: { ...usage, completionTokens: 7, reasoningTokens: 0 } });
    tally.add(delta(sealed(3)));
    const { usage: found, counted: isOurs } = await tally.countLeft(request);
    expect([found.promptTokens, found.completionTokens, isOurs]).toEqual([10, 7, false]);
  });
});
