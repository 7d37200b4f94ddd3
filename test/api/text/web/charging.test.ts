/** A search or a page is charged exactly when it was delivered with an answer, whatever else fails. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { checkLedger } from '../../../../infra/postgres/ledgerCheck.ts';
import { until } from '../../../harness/until.ts';
import { answering } from '../../../stubs/searchEngines.ts';
import { ask, CENT, lastMessages, nano, says, startWebWorld, stream, type WebWorld } from './webWorld.ts';

const ON = { enable_web_search: 'on' };
const NEWS = 'Who won the final?';

let world: WebWorld;
let spent: bigint;

beforeAll(async () => {
  world = await startWebWorld();
});

afterAll(() => world.close());

afterEach(async () => {
  await world.text.settled();
  expect(await checkLedger(world.text.api.opened.dependencies.core.sql)).toEqual([]);
});

async function remember(): Promise<void> {
  spent = await world.spentNano();
}

async function sinceThen(): Promise<bigint> {
  await world.text.settled();
  return (await world.spentNano()) - spent;
}

const failing = { status: 500, body: { error: { message: 'no', type: 'server_error' } } };

describe('a search that fails', () => {
  it.each([
    ['fails', answering(500, 'oops')],
    ['refuses our key', answering(401, 'no')],
    ['is busy', answering(429, 'slow down')],
    ['answers with a page', answering(200, '<html>')],
    ['cuts the connection', (_: unknown, response: { destroy(): void }) => response.destroy()],
  ])('because the engine %s is reported to the model, causes no error, and costs nothing', async (_name, behaviour) => {
    await remember();
    world.engine.next.push(behaviour as ReturnType<typeof answering>);
    const answer = await ask(world, says(NEWS, { ...ON, return_search_results_as_documents: true }));
    expect(lastMessages(world)[0]?.content).toContain('was tried and failed');
    expect(answer.choices[0]?.message.tool_calls).toBeUndefined();
    const amount = BigInt(answer.usage.prompt_tokens * 1_000 + answer.usage.completion_tokens * 2_000);
    expect([await sinceThen(), nano(answer.cost.usd)]).toEqual([amount, amount]);
    expect((await world.text.entryOf(answer.id))?.notes).toContain('web search failed: not charged');
  });
});

describe('no charge when', () => {
  it.each([false, true])('the model fails after the search (stream: %s)', async (streamed) => {
    await remember();
    world.text.stub.next.push(failing);
    const response = await world.text.chat({ ...says(NEWS, ON), stream: streamed });
    expect(response.status).toBe(500);
    expect(await sinceThen()).toBe(0n);
  });

  it.each([false, true])(
    'the client leaves during the search, within the refund budget, and no model is called (stream: %s)',
    async (isStream) => {
      await remember();
      const answered = world.text.stub.received.length;
      await leaveSearch(isStream);
      expect(await sinceThen()).toBe(0n);
      expect(world.text.stub.received).toHaveLength(answered);
    },
  );

  it('a stream without search results breaks off before its first word', async () => {
    await remember();
    const usage = { prompt_tokens: 500, completion_tokens: 0, total_tokens: 500 };
    const frames = [{ ...FRAME, choices: [], usage }, FRAME, FRAME];
    world.text.stub.next.push({ frames, pauseMs: 100, cutAfterFrames: 2 });
    const text = await (await world.text.chat({ ...says(NEWS, ON), stream: true })).text();
    expect(text).toContain('broke off');
    expect(text).not.toContain('example.org');
    expect(await sinceThen()).toBe(0n);
  });

  it('the credit does not cover the maximum, and the engine is not queried', async () => {
    const { api } = world.text;
    const { secret } = await api.newKey('INFERENCE');
    const asked = world.engine.requests.length;
    const response = await world.text.chat(says(NEWS, ON), { key: secret } as RequestInit);
    expect([response.status, world.engine.requests.length]).toEqual([402, asked]);
  });

  it('the request is a dry run', async () => {
    await remember();
    const asked = world.engine.requests.length;
    const init = { headers: { 'x-service-dry-run': 'true' } };
    const searched = await (await world.text.chat(says(NEWS, ON), init)).json();
    const plain = await (await world.text.chat(says(NEWS), init)).json();
    const costs = [searched, plain].map((answer) => nano((answer as Dry).bounds[0]?.cost.usd ?? 0));
    const tokens = [searched, plain].map((answer) => (answer as Dry).bounds[0]?.prompt_tokens ?? 0);
    expect((costs[0] ?? 0n) - (costs[1] ?? 0n)).toBe(CENT + BigInt((tokens[0] ?? 0) - (tokens[1] ?? 0)) * 1_000n);
    expect([world.engine.requests.length, await sinceThen()]).toEqual([asked, 0n]);
  });
});

/** A client disconnects while the engine is queried. */
async function leaveSearch(isStream: boolean): Promise<void> {
  const asked = world.engine.requests.length;
  world.engine.next.push(() => undefined);
  const away = new AbortController();
  const call = world.text.chat({ ...says(NEWS, ON), stream: isStream }, { signal: away.signal });
  await until('the engine is asked', () => world.engine.requests.length > asked);
  away.abort();
  await expect(call).rejects.toThrow();
  await until('the call is over', () => world.text.api.inFlight.count === 0);
}

describe('a search whose client left', () => {
  it.each([false, true])(
    'during the search is billed without a model call beyond the refund budget (stream: %s)',
    async (isStream) => {
      const { overrides } = world.text.api.opened.dependencies.core.config.limits;
      overrides[world.text.accountId] = { refundedPerDay: 0 };
      await remember();
      const answered = world.text.stub.received.length;
      await leaveSearch(isStream);
      delete overrides[world.text.accountId];
      expect(await sinceThen()).toBe(CENT);
      expect(world.text.stub.received).toHaveLength(answered);
    },
  );

  it.each([
    ['before a stream begins', { stream: true, reasoning_effort: 'none' }, { hang: 'head' as const }],
    ['before a whole answer that says nothing', {}, { tokens: [], delayMs: 300 }],
  ])('%s is billed', async (_when, more, script) => {
    await remember();
    const answered = world.text.stub.received.length;
    world.text.stub.next.push(script);
    const away = new AbortController();
    const call = world.text.chat({ ...says(NEWS, ON), ...more }, { signal: away.signal });
    await until('the model is asked', () => world.text.stub.received.length > answered);
    away.abort();
    await expect(call).rejects.toThrow();
    await until('the call is over', () => world.text.api.inFlight.count === 0);
    expect(await sinceThen()).toBeGreaterThanOrEqual(CENT);
  });
});

interface Dry {
  bounds: { cost: { usd: number }; prompt_tokens: number }[];
}

describe('results that the client got, which are billed without tokens,', () => {
  const SHOWN = { ...ON, include_search_results_in_stream: true };

  it('when a whole answer says nothing', async () => {
    await remember();
    world.text.stub.next.push({ tokens: [] });
    const answer = await ask(world, says(NEWS, ON));
    expect(answer.service_parameters.web_search_citations.length).toBeGreaterThan(0);
    expect([nano(answer.cost.usd), await sinceThen()]).toEqual([CENT, CENT]);
  });

  it('when a stream says nothing', async () => {
    await remember();
    world.text.stub.next.push({ tokens: [] });
    const chunks = await stream(world, says(NEWS, SHOWN));
    expect([nano(chunks.at(-1)?.cost?.usd ?? 0), await sinceThen()]).toEqual([CENT, CENT]);
  });

  it('when the model breaks off before its first word', async () => {
    await remember();
    world.text.stub.next.push({ tokens: [], finishReason: null, cutAfterFrames: 1 });
    const response = await world.text.chat({ ...says(NEWS, SHOWN), stream: true });
    const text = await response.text();
    const isShown = text.includes('web_search_citations');
    expect(await sinceThen()).toBe(isShown ? CENT : 0n);
  });

  it('when the client leaves during reasoning, together with its prompt', async () => {
    await remember();
    const usage = { prompt_tokens: 500, completion_tokens: 0, total_tokens: 500 };
    world.text.stub.next.push({ frames: [{ ...FRAME, choices: [], usage }, FRAME], hang: 1 });
    const away = new AbortController();
    const body = { ...says(NEWS, SHOWN), stream: true };
    const response = await world.text.chat(body, { signal: away.signal });
    const { value } = (await response.body?.getReader().read()) ?? {};
    const shown = Buffer.from(value ?? []).toString();
    expect(shown).toContain('https://example.org/0');
    away.abort();
    const amount = await sinceThen();
    const [, id = ''] = /"id":"(chatcmpl-[0-9a-f]+)"/.exec(shown) ?? [];
    const { completionTokens = 0 } = (await world.text.entryOf(id)) ?? {};
    expect(amount).toBe(CENT + 500n * 1_000n + BigInt(completionTokens) * 2_000n);
  });
});

const FRAME = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-stub' };

describe('the hold during a search', () => {
  it('covers the maximum in one hold, which expires when the process dies', async () => {
    await remember();
    const dry = await world.text.chat(says(NEWS, ON), { headers: { 'x-service-dry-run': 'true' } });
    const bound = nano(((await dry.json()) as Dry).bounds[0]?.cost.usd ?? 0);
    const asked = world.engine.requests.length;
    let answerNow: () => void = () => undefined;
    world.engine.next.push((request, response) => {
      answerNow = () => answering(200, { results: [] })(request, response);
    });
    const call = ask(world, says(NEWS, ON));
    await until('the engine is asked', () => world.engine.requests.length > asked);
    const { sql } = world.text.api.opened.dependencies.core;
    const { rows } = await sql.query(
      'select o.held_usd::text as held, h.expires_at > now() as expires from holds h join operations o using (operation_id) where h.account_id = $1',
      [world.text.accountId],
    );
    expect(rows).toEqual([{ held: bound.toString(), expires: true }]);
    answerNow();
    await call;
  });
});

describe('a fallback', () => {
  it.each([false, true])('answers with the search of the first model, charged once (stream: %s)', async (streamed) => {
    await remember();
    const asked = world.engine.requests.length;
    world.text.stub.next.push(failing);
    const body = { ...says(NEWS, ON), fallbacks: [{ model: 'gpt-second' }] };
    const cost = streamed ? (await stream(world, body)).at(-1)?.cost?.usd : (await ask(world, body)).cost.usd;
    expect(world.engine.requests.length - asked).toBe(1);
    const { messages = [] } = world.text.second.received.at(-1)?.body ?? {};
    expect(String(messages[0]?.content)).toContain('https://example.org/0');
    const amount = await sinceThen();
    expect(amount).toBe(nano(cost ?? 0));
    expect(amount > CENT && amount < 2n * CENT).toBe(true);
  });

  it('without web search is skipped', async () => {
    world.text.stub.next.push(failing);
    const body = { ...says(NEWS, ON), fallbacks: [{ model: 'gpt-plain' }] };
    expect((await world.text.chat(body)).status).toBe(500);
  });
});

describe('a client that leaves', () => {
  it('midway pays for the search and the received output', async () => {
    await remember();
    world.text.stub.next.push({ tokens: Array.from({ length: 20 }, () => ' word'), pauseMs: 5 });
    const away = new AbortController();
    const response = await world.text.chat({ ...says(NEWS, ON), stream: true }, { signal: away.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    away.abort();
    const amount = await sinceThen();
    expect(amount > CENT && amount < 2n * CENT).toBe(true);
  });
});
