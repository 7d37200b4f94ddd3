/** A web search within a conversation: its results for the model and the client, and its costs. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { checkLedger } from '../../../../infra/postgres/ledgerCheck.ts';
import { answering } from '../../../stubs/searchEngines.ts';
import { textModel } from '../textWorld.ts';
import { ask, CENT, lastMessages, nano, says, startWebWorld, stream, type WebWorld } from './webWorld.ts';

const ON = { enable_web_search: 'on' };
const NEWS = 'Please tell me: who won the final?';

let world: WebWorld;

beforeAll(async () => {
  const { spec } = textModel({});
  world = await startWebWorld([textModel({ id: 'gpt-8k', spec: { ...spec, availableContextTokens: 8_192 } })]);
});

afterAll(() => world.close());

afterEach(async () => {
  await world.text.settled();
  expect(await checkLedger(world.text.api.opened.dependencies.core.sql)).toEqual([]);
});

/** The query of the last engine request. */
const query = () => world.engine.requests.at(-1)?.url.searchParams.get('q');

describe('a search', () => {
  it('has a query for engines, and its numbered results precede the conversation', async () => {
    await ask(world, {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: NEWS },
      ],
      service_parameters: ON,
    });
    expect(query()).toBe('who won the final?');
    const [own, found, ...rest] = lastMessages(world);
    expect([own?.content, found?.role]).toEqual(['Be brief.', 'system']);
    expect(found?.content).toContain(
      '<result number="1">\nHit 0\nhttps://example.org/0\n2026-03-04T00:00:00\nSome text.',
    );
    expect(found?.content).toContain('<result number="10">');
    expect(found?.content).not.toContain('<result number="11">');
    expect(rest.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });

  it('works with a model of another provider kind', async () => {
    await ask(world, { ...says(NEWS, ON), model: 'claude' });
    expect(JSON.stringify(world.claude.received.at(-1)?.body.system)).toContain('https://example.org/9');
  });

  it('is in the answer with its sources and charges: tokens and one search', async () => {
    const before = await world.spentNano();
    const answer = await ask(world, says(NEWS, ON));
    const { web_search_citations: citations } = answer.service_parameters;
    expect(citations).toHaveLength(10);
    expect(citations[0]).toEqual({
      ...{ title: 'Hit 0', url: 'https://example.org/0', content: 'Some text.' },
      date: '2026-03-04T00:00:00',
    });
    await world.text.settled();
    const entry = await world.text.entryOf(answer.id);
    const { prompt_tokens, completion_tokens } = answer.usage;
    const amount = CENT + BigInt(prompt_tokens * 1_000 + completion_tokens * 2_000);
    expect([entry?.amountNano, nano(answer.cost.usd), (await world.spentNano()) - before]).toEqual([
      ...[amount, amount, amount],
    ]);
    expect(entry?.notes).toContain('web search 1 × 0.01 USD');
  });

  it.each([true, false])('asks the model for citation marks only on request (%s)', async (marked) => {
    await ask(world, says(NEWS, { ...ON, enable_web_citations: marked }));
    expect(lastMessages(world)[0]?.content.includes('^1,3^')).toBe(marked);
  });

  it('without results counts as a search', async () => {
    const answer = await ask(world, says('nothing', ON));
    expect(answer.service_parameters.web_search_citations).toEqual([]);
    expect(lastMessages(world)[0]?.content).toContain('found nothing');
    await world.text.settled();
    expect((await world.text.entryOf(answer.id))?.notes).toContain('web search 1 ×');
  });

  it.each([
    ['What are the latest results?', 1],
    ['Look it up on the web, and cite it.', 1],
    ['Add two and two.', 0],
    ['```\nlatest news\n```\nWhat does this print?', 0],
  ])('in mode auto for %j makes %i requests', async (words, searches) => {
    const before = world.engine.requests.length;
    const answer = await ask(world, says(words, { enable_web_search: 'auto' }));
    expect(world.engine.requests.length - before).toBe(searches);
    expect(answer.cost.usd > 0.01).toBe(searches === 1);
  });

  it('can be enabled by the older field and in the model name', async () => {
    const before = world.engine.requests.length;
    await ask(world, { ...says('final'), web_search: true });
    await ask(world, { ...says('final'), model: 'gpt-stub:enable_web_search=on' });
    expect(world.engine.requests.length - before).toBe(2);
  });

  it('is not made for a message without words, and costs nothing', async () => {
    const before = world.engine.requests.length;
    const answer = await ask(world, says('```\ncode\n```', ON));
    expect([world.engine.requests.length - before, answer.cost.usd < 0.01]).toEqual([0, true]);
  });

  it('adds at most the held tokens to a prompt, whatever the engine sends', async () => {
    const long = '界'.repeat(3_000);
    const results = Array.from({ length: 30 }, (_, index) => ({
      ...{
        title: long,
        url: `https://example.org/${index}?${'x'.repeat(1_900)}`,
        content: long,
        publishedDate: long,
      },
    }));
    world.engine.next.push(answering(200, { results, unresponsive_engines: [] }));
    await ask(world, says(NEWS, ON));
    const dry = await world.text.chat(says(NEWS, ON), { headers: { 'x-service-dry-run': 'true' } });
    const { bounds } = (await dry.json()) as { bounds: { prompt_tokens: number; cost: { usd: number } }[] };
    const letters = lastMessages(world)[0]?.content.match(/[^ -~\n]/g)?.length ?? 0;
    expect(letters).toBeGreaterThan(1_000);
    expect(letters).toBeLessThan(bounds[0]?.prompt_tokens ?? 0);
    expect(bounds[0]?.cost.usd).toBeGreaterThan(0.01);
  });

  it('fits into the context beside an answer of default length', async () => {
    const asked = says(NEWS, ON, { model: 'gpt-8k' });
    const dry = await world.text.chat(asked, { headers: { 'x-service-dry-run': 'true' } });
    const { bounds } = (await dry.json()) as {
      bounds: { prompt_tokens: number; completion_tokens: number }[];
    };
    const [bound] = bounds;
    expect(bound?.prompt_tokens).toBeGreaterThan(8_192 / 4);
    expect(bound && bound.prompt_tokens + bound.completion_tokens).toBe(8_192);
  });

  it('drops results without a web address', async () => {
    const results = [
      { title: 'bad', url: 'javascript:alert(1)', content: '' },
      { title: 'good', url: 'https://a.example/', content: '' },
    ];
    world.engine.next.push(answering(200, { results }));
    const answer = await ask(world, says(NEWS, ON));
    expect(answer.service_parameters.web_search_citations.map(({ title }) => title)).toEqual(['good']);
  });
});

describe('search results as documents', () => {
  const WISHED = { ...ON, return_search_results_as_documents: true };

  it('are a tool call before those of the model', async () => {
    world.text.stub.next.push({ toolCalls: [{ id: 'call_own', name: 'look', arguments: '{}' }] });
    const answer = await ask(world, {
      ...says(NEWS, WISHED),
      tools: [{ type: 'function', function: { name: 'look' } }],
    });
    const [choice] = answer.choices;
    expect(choice?.message.tool_calls?.map(({ id }) => id)).toEqual(['web_search_call', 'call_own']);
    expect(choice?.finish_reason).toBe('tool_calls');
  });

  it('give an answer the finish reason of a tool call, and keep that of a cut answer', async () => {
    const [first] = (await ask(world, says(NEWS, WISHED))).choices;
    expect([first?.finish_reason, first?.stop_reason]).toEqual(['tool_calls', null]);
    const call = first?.message.tool_calls?.[0];
    expect(call?.function.name).toBe('web_search');
    const { documents } = JSON.parse(call?.function.arguments ?? '{}') as { documents: object[] };
    expect(documents[0]).toEqual({
      ...{ id: '1', title: 'Hit 0', url: 'https://example.org/0', snippet: 'Some text.' },
      published_at: '2026-03-04T00:00:00',
    });
    const [cut] = (await ask(world, { ...says(NEWS, WISHED), max_completion_tokens: 2 })).choices;
    expect(cut?.finish_reason).toBe('length');
  });

  it('are absent without a search', async () => {
    const [choice] = (await ask(world, says('Add two.', { ...WISHED, enable_web_search: 'auto' }))).choices;
    expect([choice?.finish_reason, choice?.message.tool_calls]).toEqual(['stop', undefined]);
  });
});

describe('a stream', () => {
  it('begins with the results on request, and ends with the charge', async () => {
    const before = await world.spentNano();
    const chunks = await stream(world, says(NEWS, { ...ON, include_search_results_in_stream: true }));
    const [first] = chunks;
    expect(first?.choices).toEqual([]);
    expect(first?.service_parameters?.web_search_citations).toHaveLength(10);
    const last = chunks.at(-1);
    await world.text.settled();
    const entry = await world.text.entryOf(last?.id ?? '');
    const spent = (await world.spentNano()) - before;
    expect([nano(last?.cost?.usd ?? 0), entry?.amountNano]).toEqual([spent, spent]);
    expect(spent > CENT).toBe(true);
    expect(nano(last?.balance?.usd ?? 0)).toBe(10n ** 12n - (await world.spentNano()));
  });

  it('has no results without a request', async () => {
    const chunks = await stream(world, says(NEWS, ON));
    expect(chunks.filter((chunk) => chunk.service_parameters)).toEqual([]);
  });

  it('has the documents before the words, and numbers the calls of the model after them', async () => {
    world.text.stub.next.push({
      tokens: ['Well'],
      toolCalls: [{ id: 'call_own', name: 'look', arguments: '{"a":1}' }],
    });
    const tools = [{ type: 'function', function: { name: 'look' } }];
    const wished = { ...ON, return_search_results_as_documents: true };
    const chunks = await stream(world, { ...says(NEWS, wished), tools });
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    expect(deltas[0]?.role).toBe('assistant');
    const calls = deltas.flatMap(({ tool_calls = [] }) => tool_calls);
    expect([calls[0]?.index, calls[0]?.id]).toEqual([0, 'web_search_call']);
    expect(new Set(calls.slice(1).map(({ index }) => index))).toEqual(new Set([1]));
    const finished = chunks.flatMap(({ choices }) => choices.map(({ finish_reason }) => finish_reason));
    expect(finished.filter((reason) => reason !== null)).toEqual(['tool_calls']);
  });
});

describe('the log', () => {
  it('has no question, no results and no answer', async () => {
    const { log } = world.text.api;
    world.engine.next.push(
      answering(200, {
        results: [{ title: 'canary-title', url: 'https://a.example/canary-url', content: 'canary-text' }],
      }),
      answering(500, 'canary-failure'),
    );
    await ask(world, says('canary-question', ON));
    await ask(world, says('canary-question', ON));
    expect(query()).toBe('canary-question');
    expect(log.filter((line) => line.includes('canary-'))).toEqual([]);
  });
});
