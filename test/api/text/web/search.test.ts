/** A search within a conversation: what the model gets, what the client gets, and what it costs. */
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

/** Of the request that came last. */
const query = () => world.engine.requests.at(-1)?.url.searchParams.get('q');

describe('a search', () => {
  it('is asked in words for an engine, and its results stand numbered before the conversation', async () => {
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

  it('reaches a model of another kind of provider', async () => {
    await ask(world, { ...says(NEWS, ON), model: 'claude' });
    expect(JSON.stringify(world.claude.received.at(-1)?.body.system)).toContain('https://example.org/9');
  });

  it('is in the answer with its sources, and the answer says what was charged: tokens and one search', async () => {
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

  it.each([true, false])('asks the model for marks only when they are wished (%s)', async (marked) => {
    await ask(world, says(NEWS, { ...ON, enable_web_citations: marked }));
    expect(lastMessages(world)[0]?.content.includes('^1,3^')).toBe(marked);
  });

  it('that finds nothing is a search', async () => {
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
  ])('when it is left to us, %j makes %i', async (words, searches) => {
    const before = world.engine.requests.length;
    const answer = await ask(world, says(words, { enable_web_search: 'auto' }));
    expect(world.engine.requests.length - before).toBe(searches);
    expect(answer.cost.usd > 0.01).toBe(searches === 1);
  });

  it('comes on by the older name, and by the name of the model', async () => {
    const before = world.engine.requests.length;
    await ask(world, { ...says('final'), web_search: true });
    await ask(world, { ...says('final'), model: 'gpt-stub:enable_web_search=on' });
    expect(world.engine.requests.length - before).toBe(2);
  });

  it('of a message without words is none, and costs nothing', async () => {
    const before = world.engine.requests.length;
    const answer = await ask(world, says('```\ncode\n```', ON));
    expect([world.engine.requests.length - before, answer.cost.usd < 0.01]).toEqual([0, true]);
  });

  it('adds no more to a prompt than was held for it, whatever the engine sends', async () => {
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

  it('has its place in the context beside an answer whose length nobody stated', async () => {
    const asked = says(NEWS, ON, { model: 'gpt-8k' });
    const dry = await world.text.chat(asked, { headers: { 'x-service-dry-run': 'true' } });
    const { bounds } = (await dry.json()) as {
      bounds: { prompt_tokens: number; completion_tokens: number }[];
    };
    const [bound] = bounds;
    expect(bound?.prompt_tokens).toBeGreaterThan(8_192 / 4);
    expect(bound && bound.prompt_tokens + bound.completion_tokens).toBe(8_192);
  });

  it('passes on no address that is none', async () => {
    const results = [
      { title: 'bad', url: 'javascript:alert(1)', content: '' },
      { title: 'good', url: 'https://a.example/', content: '' },
    ];
    world.engine.next.push(answering(200, { results }));
    const answer = await ask(world, says(NEWS, ON));
    expect(answer.service_parameters.web_search_citations.map(({ title }) => title)).toEqual(['good']);
  });
});

describe('documents', () => {
  const WISHED = { ...ON, return_search_results_as_documents: true };

  it('are a call before those of the model', async () => {
    world.text.stub.next.push({ toolCalls: [{ id: 'call_own', name: 'look', arguments: '{}' }] });
    const answer = await ask(world, {
      ...says(NEWS, WISHED),
      tools: [{ type: 'function', function: { name: 'look' } }],
    });
    const [choice] = answer.choices;
    expect(choice?.message.tool_calls?.map(({ id }) => id)).toEqual(['web_search_call', 'call_own']);
    expect(choice?.finish_reason).toBe('tool_calls');
  });

  it('end an answer of words as a call does, and a cut answer as a cut', async () => {
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

  it('are not there without a search', async () => {
    const [choice] = (await ask(world, says('Add two.', { ...WISHED, enable_web_search: 'auto' }))).choices;
    expect([choice?.finish_reason, choice?.message.tool_calls]).toEqual(['stop', undefined]);
  });
});

describe('a stream', () => {
  it('begins with the results when they are wished, and ends with what was charged', async () => {
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

  it('has no results that were not wished', async () => {
    const chunks = await stream(world, says(NEWS, ON));
    expect(chunks.filter((chunk) => chunk.service_parameters)).toEqual([]);
  });

  it('has the documents before the words, and counts the calls of the model on from there', async () => {
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

describe('no log line has', () => {
  it('the question, the results or the answer', async () => {
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
