/** A client that leaves a stream aborts or drains the upstream call by `onDisconnect`, and pays for the output. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { TextModel } from '../../../domain/catalogue/model.ts';
import type { ProviderSettings } from '../../../domain/providerSettings.ts';
import { reasoningBesideOf } from '../../../domain/text/promptSize.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import type { OpenAiSettings } from '../../../providers/openai/settings.ts';
import { until } from '../../harness/until.ts';
import type { ChatScript } from '../../stubs/openaiScript.ts';
import { startTextWorld, type TextWorld, textModel } from './textWorld.ts';

const PLAIN = textModel({}).spec;
const MODELS: TextModel[] = [
  textModel({ id: 'thinker', spec: { ...PLAIN, tokensPerSecond: 1_000 } }),
  textModel({ id: 'racer', spec: { ...PLAIN, tokensPerSecond: 1_000_000 } }),
  textModel({ id: 'caller', spec: { ...PLAIN, capabilities: { supportsFunctionCalling: true } } }),
  textModel({ id: 'drained', spec: { ...PLAIN, onDisconnect: 'drain' } }),
  textModel({ id: 'summing', provider: 'summing', spec: { ...PLAIN, tokensPerSecond: 1_000_000 } }),
  textModel({ id: 'patient', provider: 'patient' }),
  textModel({ id: 'beside', provider: 'beside', spec: { ...PLAIN, tokensPerSecond: 1_000_000 } }),
];
/** Output for minutes, which no test awaits. */
const ENDLESS = { tokens: Array.from({ length: 20_000 }, (_, index) => ` w${index}`), pauseMs: 20 };

const TOOL = { type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } };

let world: TextWorld;

beforeAll(async () => {
  world = await startTextWorld((config) => {
    const models = [...config.models, ...MODELS];
    const { stub } = config.providers;
    if (stub?.kind !== 'openai') throw new Error('no stub');
    const openai = (more: Partial<OpenAiSettings>): ProviderSettings => ({ ...stub, ...more });
    const providers: Record<string, ProviderSettings> = {
      ...config.providers,
      summing: openai({ showsReasoning: false }),
      // Its idle timeout is longer than these tests.
      patient: { ...stub, timeouts: { ...stub.timeouts, idleMs: 600_000 } },
      beside: openai({ reasoningBeside: true }),
    };
    return { ...config, models, providers, modelCatalogue: createCatalogue(models) };
  });
  // Clients leave before any silence ends, however slow they are.
  world.stub.onHang = () => undefined;
});

afterAll(async () => {
  await world.settled();
  expect(await checkLedger(world.api.opened.dependencies.core.sql)).toEqual([]);
  await world.close();
});

/** Returns the newest entry of the account. */
async function lastEntry() {
  await world.settled();
  const { rows } = await world.api.opened.dependencies.core.sql.query(
    `select request_id, amount_nano::text as nano, prompt_tokens::int as prompt, completion_tokens::int as completion, notes
       from usage_entries where account_id = $1 order by id desc limit 1`,
    [world.accountId],
  );
  return rows[0] as { request_id: string; nano: string; prompt: number; completion: number; notes: string };
}

async function entryCount(): Promise<number> {
  const { rows } = await world.api.opened.dependencies.core.sql.query(
    'select count(*)::int as count from usage_entries where account_id = $1',
    [world.accountId],
  );
  return rows[0].count;
}

/** Reads a stream until `enough`, disconnects, and returns the text. */
async function leaveAfter(body: object, enough: (text: string) => boolean | Promise<boolean>): Promise<string> {
  const away = new AbortController();
  const response = await world.chat({ stream: true, ...body }, { signal: away.signal });
  expect(response.status).toBe(200);
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (await enough(text)) break;
  }
  away.abort();
  return text;
}

/** Sends a request without an answer, and disconnects `afterMs` after the upstream received it. */
async function leaveUnanswered(body: object, afterMs: number): Promise<void> {
  const away = new AbortController();
  const { length } = world.stub.received;
  const call = world.chat({ stream: true, ...body }, { signal: away.signal });
  await until('the upstream is asked', () => world.stub.received.length > length);
  await sleep(afterMs);
  away.abort();
  await expect(call).rejects.toThrow();
}

const wordsIn = (text: string) => (text.match(/"content"/g) ?? []).length;
const hasWords = (text: string) => wordsIn(text) >= 3;

describe('a client that leaves a stream, by default', () => {
  it('aborts the upstream call at once, without a timer or a further upstream event', async () => {
    world.stub.next.push({ tokens: [' a', ' b', ' c'], hang: 3 });
    try {
      await leaveAfter({ model: 'patient' }, (text) => {
        if (wordsIn(text) < 2) return false;
        // Timers that are set from here on never fire.
        vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] });
        return true;
      });
      await until('the upstream is left', () => world.stub.received.at(-1)?.aborted === true);
    } finally {
      // The bill may wait for the next batch.
      vi.advanceTimersByTime(100);
      vi.useRealTimers();
    }
    expect((await lastEntry()).completion).toBeGreaterThan(0);
  });

  it('pays for the prompt and for what was received', async () => {
    world.stub.next.push(ENDLESS);
    const text = await leaveAfter({ model: 'gpt-plain' }, hasWords);
    const entry = await lastEntry();
    expect(entry.completion).toBeGreaterThanOrEqual(wordsIn(text));
    expect(entry.completion).toBeLessThan(1_000);
    expect(entry.prompt).toBeGreaterThan(0);
    expect(entry.notes).toContain('tokens counted here');
  });

  it('pays for the received tool arguments', async () => {
    const words = 'many words '.repeat(1_000);
    world.stub.next.push({ tokens: [], toolCalls: [{ name: 'look_up', arguments: words }], pauseMs: 5 });
    const pieces = (text: string) => text.split('"arguments"').length - 1;
    const text = await leaveAfter({ model: 'caller', tools: [TOOL] }, (sofar) => pieces(sofar) >= 40);
    const { completion } = await lastEntry();
    // A chunk has six letters. Two words have eleven.
    expect(completion).toBeGreaterThan((pieces(text) * 6 * 2) / 11 - 4);
    expect(completion).toBeLessThan(1_500);
  });

  it('pays the usage of the service when that is more than was received', async () => {
    const frame = (delta: object, usage?: object) => ({
      ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-stub' },
      choices: [{ index: 0, delta, finish_reason: null }],
      ...(usage && { usage }),
    });
    const usage = { prompt_tokens: 40, completion_tokens: 3_000, total_tokens: 3_040 };
    world.stub.next.push({ frames: [frame({ content: ' word' }, usage), frame({})], hang: 1 });
    await leaveAfter({ model: 'gpt-plain' }, (text) => wordsIn(text) >= 1);
    expect(await lastEntry()).toMatchObject({ prompt: 40, completion: 3_000 });
  });

  it('pays for the prompt when the upstream has not answered yet', async () => {
    world.stub.next.push({ hang: 'head' });
    const before = await entryCount();
    await leaveUnanswered({ model: 'gpt-plain' }, 100);
    const entry = await lastEntry();
    expect([await entryCount(), entry.completion]).toEqual([before + 1, 0]);
    expect(BigInt(entry.nano)).toBe(BigInt(entry.prompt) * 1_000n);
  });

  it('pays equally on /responses', async () => {
    world.stub.next.push(ENDLESS);
    const away = new AbortController();
    const response = await world.api.call('/responses', {
      ...{ method: 'POST', key: world.key, signal: away.signal },
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-plain', input: 'Hello', stream: true }),
    });
    await response.body?.getReader().read();
    const before = await entryCount();
    away.abort();
    const call = world.stub.received.at(-1);
    await until('the upstream is left', () => call?.aborted === true);
    await until('the bill stands', async () => (await entryCount()) === before + 1);
  });
});

describe('a client that leaves a model with hidden reasoning', () => {
  it('pays for the time when it leaves within the answer', async () => {
    world.stub.next.push({ tokens: [' a', ' b', ' c'], hang: 2 });
    await leaveAfter({ model: 'thinker' }, async (text) => {
      await sleep(600);
      return wordsIn(text) >= 1;
    });
    const entry = await lastEntry();
    expect(entry.completion).toBeGreaterThanOrEqual(550);
    expect(entry.notes).toContain('tokens a second');
  });

  it('pays for the time when it leaves before the first word', async () => {
    world.stub.next.push({ hang: 'head' });
    await leaveUnanswered({ model: 'thinker' }, 600);
    expect((await lastEntry()).completion).toBeGreaterThanOrEqual(550);
  });

  it('pays at most for the requested tokens', async () => {
    world.stub.next.push({ tokens: [' a', ' b', ' c'], hang: 2 });
    await leaveAfter({ model: 'racer', max_tokens: 10 }, (text) => wordsIn(text) >= 1);
    expect((await lastEntry()).completion).toBe(10);
  });

  it('never pays more than its hold, whatever the service reports', async () => {
    const body = { model: 'racer', max_tokens: 10 };
    const dry = await world.chat(body, { headers: { 'x-service-dry-run': 'true' } });
    const { bounds } = (await dry.json()) as { bounds: [{ cost: { usd: number } }] };
    const frame = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-stub' };
    const word = { index: 0, delta: { content: ' 42' }, finish_reason: null };
    const usage = { prompt_tokens: 40, completion_tokens: 5_000, total_tokens: 5_040 };
    world.stub.next.push({ frames: [{ ...frame, choices: [word], usage }, '[DONE]'], hang: 1 });
    await leaveAfter(body, (text) => wordsIn(text) >= 1);
    expect(BigInt((await lastEntry()).nano)).toBe(BigInt(Math.round(bounds[0].cost.usd * 1e9)));
  });

  it('pays the final usage of the service when it leaves before the stream is closed', async () => {
    const frame = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-stub' };
    const usage = { prompt_tokens: 40, completion_tokens: 60, total_tokens: 100 };
    const end = { index: 0, delta: {}, finish_reason: 'stop' };
    const word = { index: 0, delta: { content: ' 42' }, finish_reason: null };
    world.stub.next.push({
      frames: [{ ...frame, choices: [word] }, { ...frame, choices: [end], usage }, '[DONE]'],
      hang: 2,
    });
    await leaveAfter({ model: 'racer', max_tokens: 1_000 }, (text) => text.includes('"stop"'));
    expect(await lastEntry()).toMatchObject({ prompt: 40, completion: 60 });
  });

  it('pays for the received tokens when the service shows all reasoning', async () => {
    world.stub.next.push({ tokens: [' a', ' b', ' c'], hang: 3, reasoning: [' hm'] });
    await leaveAfter({ model: 'racer', max_tokens: 1_000 }, (text) => wordsIn(text) >= 1);
    expect((await lastEntry()).completion).toBeLessThan(20);
  });

  // Raw frames, because the stub refuses template arguments like OpenAI.
  const frame = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-stub' };
  const choice = { index: 0, delta: { content: ' 42' }, finish_reason: null };
  const raw = [`data: ${JSON.stringify({ ...frame, choices: [choice] })}\n\n`, ': more to come\n\n'];

  it.each<[string, ChatScript, object]>([
    ['whose answer has <think> in it', { tokens: ['<think>', ' 42'], hang: 2 }, { model: 'racer' }],
    ['whose service shows a summary only', { tokens: [' 42', '.'], hang: 3, reasoning: [' hm'] }, { model: 'summing' }],
    [
      'whose service hides it and was asked for the effort none',
      { raw, pauseMs: 1_000 },
      { model: 'summing', reasoning_effort: 'none' },
    ],
    [
      'whose service hides it and was asked not to think',
      { raw, pauseMs: 1_000 },
      { model: 'summing', service_parameters: { disable_thinking: true } },
    ],
  ])('pays for the time, %s', async (_case, script, body) => {
    world.stub.next.push(script);
    await leaveAfter({ max_tokens: 1_000, ...body }, async (text) => {
      await sleep(5);
      return wordsIn(text) >= 1;
    });
    expect((await lastEntry()).completion).toBe(1_000);
  });

  it('pays for the time up to the hold for reasoning beside the answer', async () => {
    world.stub.next.push({ tokens: [' 42', '.'], hang: 2 });
    await leaveAfter({ model: 'beside', max_tokens: 6, reasoning_effort: 'low' }, async (text) => {
      await sleep(50);
      return wordsIn(text) >= 1;
    });
    expect((await lastEntry()).completion).toBe(6 + reasoningBesideOf({ reasoning: { effort: 'high' } }));
  });
});

describe('a model with `onDisconnect: drain`', () => {
  it('has its stream read to the end and billed by the usage of the service', async () => {
    const tokens = Array.from({ length: 300 }, (_, index) => ` w${index}`);
    // Longer than the former wait after a disconnect.
    world.stub.next.push({ tokens, pauseMs: 20 });
    await leaveAfter({ model: 'drained' }, hasWords);
    const call = world.stub.received.at(-1);
    await until('the stream has ended', () => call?.sentTokens === tokens.length);
    await until('it is settled', async () => (await lastEntry()).completion === tokens.length);
    expect(call?.aborted).toBe(false);
    expect((await lastEntry()).notes).not.toContain('counted here');
  });
});

it('GET /models shows onDisconnect and tokensPerSecond', async () => {
  const response = await world.api.call('/models?type=text', { key: world.key });
  const { data } = (await response.json()) as { data: { id: string; model_spec: object }[] };
  const specOf = (id: string) => data.find((model) => model.id === id)?.model_spec;
  expect(specOf('gpt-plain')).toMatchObject({ onDisconnect: 'abort' });
  expect(specOf('drained')).toMatchObject({ onDisconnect: 'drain' });
  expect(specOf('thinker')).toMatchObject({ onDisconnect: 'abort', tokensPerSecond: 1_000 });
});
