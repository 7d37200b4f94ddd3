/** The token rate of a model is measured by its last answers. */
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TakeText } from '../../../api/http/answer.ts';
import { createAnswerSpeeds } from '../../../api/text/answerSpeeds.ts';
import type { ChatCall } from '../../../api/text/chatCall.ts';
import { streamChat } from '../../../api/text/chatStream.ts';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { ChatEvent, ChatRequest, TokenUsage } from '../../../domain/text/chat.ts';
import { chatRequest } from '../../providers/chatRequest.ts';
import { startTextWorld, type TextWorld, textModel } from './textWorld.ts';

const answer = (rate: number) => ({ completionTokens: rate, elapsedMs: 1_000 });

describe('the measured rate', () => {
  it('is known after twenty answers', () => {
    const speeds = createAnswerSpeeds();
    for (let count = 0; count < 19; count += 1) speeds.note('model', answer(150));
    expect(speeds.tokensPerSecondOf('model')).toBeUndefined();
    speeds.note('model', answer(150));
    expect([speeds.tokensPerSecondOf('model'), speeds.tokensPerSecondOf('other')]).toEqual([150, undefined]);
  });

  it('is the 80th percentile of the rates', () => {
    const speeds = createAnswerSpeeds();
    for (let rate = 101; rate <= 200; rate += 1) speeds.note('model', answer(rate));
    expect(speeds.tokensPerSecondOf('model')).toBe(180);
  });

  it('covers the last hundred answers', () => {
    const speeds = createAnswerSpeeds();
    for (let count = 0; count < 1_000; count += 1) speeds.note('model', answer(900));
    for (let count = 0; count < 100; count += 1) speeds.note('model', answer(150));
    expect(speeds.tokensPerSecondOf('model')).toBe(150);
  });

  it('ignores answers that are too short', () => {
    const speeds = createAnswerSpeeds();
    for (let count = 0; count < 100; count += 1) speeds.note('model', answer(99));
    expect(speeds.tokensPerSecondOf('model')).toBeUndefined();
  });

  it('is an integer of at least 1', () => {
    const speeds = createAnswerSpeeds();
    const slow = { completionTokens: 100, elapsedMs: 1e6 };
    for (let count = 0; count < 20; count += 1) speeds.note('model', slow);
    expect(speeds.tokensPerSecondOf('model')).toBe(1);
  });
});

describe('a stream', () => {
  const usage: TokenUsage = {
    ...{ promptTokens: 1, cachedTokens: 0, cacheWriteTokens: 0 },
    ...{ completionTokens: 500, reasoningTokens: 0 },
  };

  /** Resolves with the number of answers that were measured. */
  async function tell(events: ChatEvent[], take: TakeText, more: Partial<ChatRequest> = {}): Promise<number> {
    const noted: unknown[] = [];
    const call = {
      ...{
        request: chatRequest(more),
        attempt: { model: textModel({}) },
        startedAt: performance.now() - 1_000,
      },
      answerSpeeds: { note: (...answer: unknown[]) => noted.push(answer) },
      hold: { settle: async () => ({ cost: { usd: 0n, diem: 0n } }) },
      ...{ leftAt: () => undefined, end: () => undefined },
    } as unknown as ChatCall;
    const text = () => 'data: x\n\n';
    const writer = { begin: text, write: text, end: text, failed: text };
    const stream = { events: Readable.from([events]) as AsyncIterable<ChatEvent[]> };
    const request = { expired: false, ending: new AbortController().signal };
    await streamChat({ call, stream, writer, request, onSettled: async () => ({}) }, take);
    return noted.length;
  }

  const words: ChatEvent = { type: 'delta', index: 0, delta: { content: 'Yes.' } };
  const told: ChatEvent = { type: 'usage', usage };

  it.each<[string, ChatEvent[], TakeText, Partial<ChatRequest>, number]>([
    ['whose client keeps up is measured', [words, told], () => true, {}, 1],
    ['whose client was waited for is not', [words, told], async () => true, {}, 0],
    ['whose usage was not told is not', [words], () => true, {}, 0],
    ['of several choices is not', [words, told], () => true, { n: 2 }, 0],
  ])('%s', async (_case, events, take, more, expected) => {
    expect(await tell(events, take, more)).toBe(expected);
  });
});

describe('a stream that is abandoned during hidden reasoning', () => {
  let world: TextWorld;
  beforeAll(async () => {
    world = await startTextWorld((config) => {
      const { spec } = textModel({});
      const models = [
        ...config.models,
        textModel({ id: 'quick' }),
        textModel({ id: 'told', spec: { ...spec, tokensPerSecond: 1 } }),
      ];
      return { ...config, models, modelCatalogue: createCatalogue(models) };
    });
  });
  afterAll(() => world.close());

  /** Makes twenty answers of 100,000 tokens, half of them streamed. */
  async function measure(model: string) {
    const usage = { prompt_tokens: 10, completion_tokens: 100_000, total_tokens: 100_010 };
    for (let count = 0; count < 20; count += 1) {
      world.stub.next.push({ usage });
      expect((await (await world.chat({ model, stream: count % 2 === 0 })).text()).length).toBeGreaterThan(0);
    }
  }

  async function leave(model: string): Promise<number> {
    const away = new AbortController();
    world.stub.next.push({ tokens: [' a', ' b'], hang: 2 });
    const response = await world.chat({ model, max_tokens: 100, stream: true }, { signal: away.signal });
    const reader = response.body?.getReader();
    for (let text = ''; !text.includes('" a"'); ) {
      text += new TextDecoder().decode((await reader?.read())?.value);
    }
    away.abort();
    await world.settled();
    const { rows } = await world.api.opened.dependencies.core.sql.query(
      'select completion_tokens::int as tokens from usage_entries where account_id = $1 order by id desc limit 1',
      [world.accountId],
    );
    return rows[0].tokens;
  }

  it('is billed by the measured rate', async () => {
    await measure('quick');
    expect(await leave('quick')).toBe(100);
  });

  it('is billed by the configured rate of its model', async () => {
    await measure('told');
    expect(await leave('told')).toBeLessThan(100);
  });
});
