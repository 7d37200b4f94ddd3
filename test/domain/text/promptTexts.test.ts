/** Parts of a request that count as its prompt, and the text length that a number of tokens covers. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage, ChatRequest } from '../../../domain/text/chat.ts';
import { asksForHourCache } from '../../../domain/text/price.ts';
import {
  cutToTokens,
  estimateTokens,
  promptTextsOf,
  promptTokensOf,
  TOKENS_PER_MESSAGE,
  TokenEstimate,
} from '../../../domain/text/promptSize.ts';

const CALL = { id: 'call-1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } } as const;
const IMAGE = { type: 'image', bytes: Buffer.from('x'), mediaType: 'image/png', pixels: 100 } as const;

describe('the texts of a prompt', () => {
  it.each<[string, ChatMessage, string[]]>([
    ['plain words', { role: 'user', content: 'Hello' }, ['Hello']],
    ['a name', { role: 'user', content: 'Hello', name: 'Ada' }, ['Hello', 'Ada']],
    [
      'parts, of which media count otherwise',
      {
        role: 'user',
        content: [{ type: 'text', text: 'What is this?' }, IMAGE, { type: 'text', text: 'Well?' }],
      },
      ['What is this?', 'Well?'],
    ],
    [
      'the result of a tool, and which call it answers',
      { role: 'tool', content: '42', tool_call_id: 'call-1' },
      ['42', 'call-1'],
    ],
    [
      'calls of tools',
      { role: 'assistant', content: null, tool_calls: [CALL] },
      ['', '', 'call-1', 'look', '{"at":1}'],
    ],
    [
      'reasoning that is handed back',
      {
        ...{ role: 'assistant', content: 'Yes', reasoning_content: 'Hm', thought_signature: 'sig' },
        reasoning_details: [{ type: 'x', text: 'deep', data: 'sealed' }],
      } as ChatMessage,
      ['Yes', 'Hm', 'sig', 'deep', 'sealed'],
    ],
  ])('are %s', (_what, message, texts) => {
    expect(promptTextsOf({ messages: [message] }).texts).toEqual(texts);
  });

  it('include those of the tools and of the response format', () => {
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
    const schema = { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } };
    const asked = { messages: [], tools, responseFormat: schema } as unknown as ChatRequest;
    expect(promptTextsOf(asked).texts).toEqual([JSON.stringify(tools), JSON.stringify(schema)]);
    const plain = { messages: [], responseFormat: { type: 'json_object' } } as unknown as ChatRequest;
    expect(promptTextsOf(plain).texts).toEqual([]);
  });

  it('have an overhead for each message and each call', () => {
    const around = (...messages: ChatMessage[]) => promptTextsOf({ messages }).around / TOKENS_PER_MESSAGE;
    const message: ChatMessage = { role: 'user', content: 'Hello' };
    expect(around()).toBe(1);
    expect(around(message, message)).toBe(3);
    expect(around({ role: 'assistant', content: null, tool_calls: [CALL, CALL] })).toBe(4);
  });

  it('never shrink when something is added', () => {
    const words = fc.string({ unit: 'grapheme', maxLength: 30 });
    fc.assert(
      fc.property(fc.array(words, { minLength: 1, maxLength: 5 }), (contents) => {
        const messages = contents.map((content): ChatMessage => ({ role: 'user', content }));
        const tokens = promptTokensOf({ messages });
        expect(promptTokensOf({ messages: messages.slice(1) })).toBeLessThan(tokens);
        expect(tokens).toBeGreaterThanOrEqual(TOKENS_PER_MESSAGE * (1 + messages.length));
      }),
    );
  });
});

describe('a token estimate', () => {
  const text = fc.string({ unit: 'binary', maxLength: 120 });

  it('is the same for a text that is read in pieces', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(120), { maxLength: 4 }), (whole, cuts) => {
        const estimate = new TokenEstimate();
        const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length];
        for (const [at, to] of places.toSorted((left, right) => left - right).entries()) {
          if (at > 0) estimate.add(whole, places.toSorted((left, right) => left - right)[at - 1] ?? 0, to);
        }
        expect(estimate.tokens).toBe(estimateTokens(whole));
      }),
    );
  });

  it('is at least one token for a text that is not empty', () => {
    fc.assert(
      fc.property(text, (whole) => {
        expect(estimateTokens(whole)).toBeGreaterThanOrEqual(whole === '' ? 0 : 1);
      }),
    );
  });
});

describe('a text cut to a number of tokens', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 80 });

  it('is its longest beginning within that number', () => {
    fc.assert(
      fc.property(text, fc.nat(60), (whole, tokens) => {
        const cut = cutToTokens(whole, tokens);
        expect(whole.startsWith(cut)).toBe(true);
        expect(estimateTokens(cut)).toBeLessThanOrEqual(tokens);
        const [next = ''] = whole.slice(cut.length);
        if (next !== '') expect(estimateTokens(cut + next)).toBeGreaterThan(tokens);
      }),
    );
  });

  it.each([
    ['😀😀😀', 1],
    ['a😀', 1],
    ['😀', 0],
    ['\ud83d', 0],
  ])('%j at %i: never ends inside a character', (whole, tokens) => {
    expect(cutToTokens(whole, tokens)).not.toMatch(/[\ud800-\udbff]$/);
  });

  it.each(['', 'a', 'one two three'])('%j is whole if it fits', (whole) => {
    expect(cutToTokens(whole, estimateTokens(whole))).toBe(whole);
  });
});

describe('a prompt cached for an hour', () => {
  const asks = (request: Partial<ChatRequest>) => asksForHourCache({ messages: [], ...request } as ChatRequest);
  const marked = (ttl?: string): Partial<ChatRequest> => ({
    messages: [
      { role: 'user', content: 'first' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          {
            type: 'text',
            text: 'y',
            cache_control: { type: 'ephemeral', ...(ttl !== undefined && { ttl }) },
          },
        ],
      },
    ],
  });

  it.each<[string, Partial<ChatRequest>, boolean]>([
    ['nothing', {}, false],
    ['a mark without a time', marked(), false],
    ['a mark for five minutes', marked('5m'), false],
    ['a mark for an hour', marked('1h'), true],
    ['a mark for a time that nobody knows', marked('1d'), true],
    ['no word of retention', { promptCache: {} }, false],
    ['a retention nearer to five minutes', { promptCache: { retentionSeconds: 1_800 } }, false],
    ['a longer retention', { promptCache: { retentionSeconds: 86_400 } }, true],
  ])('is requested by %s, and covered by its hold', (_what, request, isAsked) => {
    expect(asks(request)).toBe(isAsked);
  });
});
