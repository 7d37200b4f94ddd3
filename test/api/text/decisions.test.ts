/** Typed questions with probabilities from log probabilities, sampling or the simulator, and their costs. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { balanceOf } from '../../../infra/postgres/ledger.ts';
import type { ChatScript } from '../../stubs/openaiScript.ts';
import { type DecisionWorld, startDecisionWorld } from './decisionWorld.ts';

let world: DecisionWorld;

beforeAll(async () => {
  world = await startDecisionWorld();
});

afterAll(() => world.close());

beforeEach(() => {
  for (const stub of [world.stub, world.anthropic]) {
    stub.received = [];
    stub.next = [];
    stub.otherwise = {};
  }
});

interface Decision {
  model: string;
  answers: Record<string, Record<string, unknown>>;
  usage: { input_tokens: number; output_tokens: number };
}
const decisionOf = async (response: Response) => (await response.json()) as Decision;
const TEAM = {
  type: 'choice',
  instructions: 'Which team answers?',
  criteria: { billing: 'refund or invoice', sales: null, returns: 'broken parcels' },
};
const URGENCY = { type: 'score', instructions: ['How urgent?'], criteria: ['can wait', 'soon', 'now'] };
const BROKEN = {
  type: 'noul',
  instructions: { ask: 'Is it broken?' },
  criteria: { true: 'it is', other: 'x' },
};

describe('the probabilities of a model with log probabilities', () => {
  it('become answers of the three types, with one call each', async () => {
    world.stub.otherwise = {
      alternatives: (prompt) => {
        if (prompt.includes('team')) return { A: 0.1, ' C': 0.5, c: 0.2, The: 0.2 };
        if (prompt.includes('urgent')) return { '2': 0.5, '1': 0.25, '0': 0.25 };
        return { Yes: 0.6, yes: 0.12, No: 0.18, Maybe: 0.1 };
      },
    };
    const response = await world.decide({ questions: { broken: BROKEN, team: TEAM, urgency: URGENCY } });
    expect(response.status).toBe(200);
    const { model, answers } = await decisionOf(response);
    expect(model).toBe('judge');
    expect(answers.broken).toEqual({ type: 'noul', noul: expect.closeTo(0.8, 9) });
    expect(answers.team).toEqual({
      ...{ type: 'choice', choice: 'returns', confidence: expect.closeTo(0.657_08, 4) },
      probabilities: { billing: expect.closeTo(0.125, 9), sales: 0, returns: expect.closeTo(0.875, 9) },
    });
    expect(answers.urgency).toEqual({
      ...{ type: 'score', score: expect.closeTo(1.25, 9), confidence: expect.closeTo(0.053_61, 4) },
      legend: { 0: 'can wait', 1: 'soon', 2: 'now' },
      probabilities: { 0: expect.closeTo(0.25, 9), 1: expect.closeTo(0.25, 9), 2: expect.closeTo(0.5, 9) },
    });
    expect(world.stub.received).toHaveLength(3);
  });

  it('are requested for one token at temperature 0, with all alternatives that a service lists', async () => {
    world.stub.otherwise = { alternatives: { yes: 1 } };
    await world.decide({ state: { parcel: ['broken', 2] } });
    const body = world.stub.received[0]?.body;
    expect(body).toMatchObject({
      ...{ model: 'gpt-stub', max_tokens: 1, temperature: 0, logprobs: true, top_logprobs: 20 },
    });
    const prompt = String(body?.messages?.at(-1)?.content);
    expect(prompt).toContain('State:\n{"parcel":["broken",2]}\n\nQuestion:\nIs it broken?');
    expect(prompt).toContain('Options:\nyes) It is true\nno) It is not true');
  });

  it('of a reasoning model are requested without reasoning', async () => {
    world.stub.otherwise = { alternatives: { yes: 1 } };
    await world.decide({ model: 'judge-thinking' });
    expect(world.stub.received[0]?.body.chat_template_kwargs).toEqual({ enable_thinking: false });
  });

  it.each([
    ['judge', 21, 3],
    ['judge-narrow', 23, 6],
    ['judge', 45, 4],
  ])('%s: %d options are evaluated in groups by %d calls', async (model, count, calls) => {
    // One option has the highest weight in its group and in the last round.
    world.stub.otherwise = {
      alternatives: (prompt) => {
        const lines = [...prompt.matchAll(/^([A-T])\) (\S+)$/gm)].map(([, label = '', name]) => {
          return [label, name === 'o17' ? 8 : 1] as const;
        });
        const sum = lines.reduce((total, [, weight]) => total + weight, 0);
        return Object.fromEntries(lines.map(([label, weight]) => [label, weight / sum]));
      },
    };
    const criteria = Object.fromEntries(Array.from({ length: count }, (_, at) => [`o${at}`, null]));
    const response = await world.decide({ model, questions: { pick: { ...TEAM, criteria } } });
    const { answers } = await decisionOf(response);
    const { choice, probabilities } = answers.pick as {
      choice: string;
      probabilities: Record<string, number>;
    };
    expect(choice).toBe('o17');
    expect(probabilities.o17).toBeCloseTo(8 / (count + 7), 9);
    expect(Object.values(probabilities).reduce((sum, each) => sum + each, 0)).toBeCloseTo(1, 9);
    expect(world.stub.received).toHaveLength(calls);
  });

  it('need no call and cost nothing for a single option', async () => {
    const before = await world.entries();
    const response = await world.decide({ questions: { pick: { ...TEAM, criteria: { only: null } } } });
    expect(await decisionOf(response)).toEqual({
      model: 'judge',
      answers: { pick: { type: 'choice', choice: 'only', probabilities: { only: 1 }, confidence: 1 } },
      usage: { input_tokens: 0, output_tokens: 0 },
    });
    expect(world.stub.received).toEqual([]);
    await world.settled();
    expect(await world.entries()).toEqual(before);
  });

  it('never use more than eight calls of a request at once', async () => {
    world.stub.otherwise = { alternatives: { yes: 1 }, delayMs: 20 };
    const questions = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`q${at}`, BROKEN]));
    const response = await world.decide({ questions });
    expect(Object.keys((await decisionOf(response)).answers)).toHaveLength(30);
    expect(world.stub.mostRunning()).toBe(8);
  });
});

describe('a model without log probabilities', () => {
  const says = (text: string) => ({ content: [{ type: 'text' as const, text }], stopReason: 'end_turn' });

  it('is sampled ten times, and its answers are counted', async () => {
    world.anthropic.next = [...Array(7).fill(says('Yes')), says('no.'), says('**No**'), says('I am not sure')];
    const response = await world.decide({ model: 'judge-claude' });
    const { answers, usage } = await decisionOf(response);
    expect(answers.broken).toEqual({ type: 'noul', noul: expect.closeTo(7.5 / 10, 9) });
    expect(world.anthropic.received).toHaveLength(10);
    expect(world.anthropic.received[0]?.body).toMatchObject({ temperature: 1, max_tokens: 4 });
    expect(usage).toEqual({ input_tokens: 120, output_tokens: 90 });
    expect((await world.entries()).at(-1)).toEqual({
      sku: 'judge-claude-llm-mtoken',
      ...{ promptTokens: 120, completionTokens: 90, amountNano: 5_040n },
    });
  });

  it('is sampled as often as configured, also behind a service with log probabilities', async () => {
    world.stub.otherwise = { tokens: ['A'] };
    const response = await world.decide({ model: 'judge-sampled', questions: { team: TEAM } });
    const { answers } = await decisionOf(response);
    const third = 1 / 3;
    expect(answers.team).toMatchObject({
      choice: 'billing',
      probabilities: { billing: expect.closeTo((4 + third) / 5, 9), sales: expect.closeTo(third / 5, 9) },
    });
    expect(world.stub.received.map(({ body }) => body.logprobs)).toEqual(Array(4).fill(undefined));
  });
});

describe('the simulator', () => {
  it('serves a fresh installation, with answers from words that question and options share', async () => {
    const ask = async () =>
      decisionOf(await world.decide({ model: 'simulator-decision', questions: { team: TEAM, broken: BROKEN } }));
    const { model, answers, usage } = await ask();
    expect(model).toBe('simulator-decision');
    // Only "broken" is shared, so the weights are e, 1 and 1.
    const shared = Math.E / (Math.E + 2);
    expect(answers.team).toMatchObject({
      choice: 'returns',
      probabilities: { returns: expect.closeTo(shared, 9), sales: expect.closeTo((1 - shared) / 2, 9) },
    });
    const again = await ask();
    expect(again).toEqual({ model, answers, usage });
    expect(world.stub.received).toEqual([]);
  });

  it('is described as such in the catalogue', async () => {
    const response = await world.api.call('/models?type=decision', { key: world.key });
    const { data } = (await response.json()) as {
      data: { id: string; model_spec: { description?: string } }[];
    };
    expect(data.find(({ id }) => id === 'simulator-decision')?.model_spec.description).toContain('asks no model');
    expect(data.map(({ id }) => id)).toContain('jev-latest');
  });
});

describe('the costs of a decision', () => {
  it('agree to the nano in the answer, the entry, the ledger and the service', async () => {
    const usage = (prompt: number) => ({
      prompt_tokens: prompt,
      completion_tokens: 1,
      total_tokens: prompt + 1,
    });
    world.stub.next = [{ usage: usage(101) }, { usage: usage(99) }, { usage: usage(77) }].map((script) => ({
      ...script,
      alternatives: { A: 0.5, '1': 0.5, yes: 1 },
    }));
    const { sql } = world.api.opened.dependencies.core;
    const balance = async () => (await balanceOf(sql, world.accountId))?.usd ?? 0n;
    const before = await balance();
    const response = await world.decide({ questions: { broken: BROKEN, team: TEAM, urgency: URGENCY } });
    expect((await decisionOf(response)).usage).toEqual({ input_tokens: 277, output_tokens: 3 });
    const entry = (await world.entries()).at(-1);
    expect(entry).toEqual({
      ...{ sku: 'judge-llm-mtoken', promptTokens: 277, completionTokens: 3, amountNano: 11_634n },
    });
    expect(before - (await balance())).toBe(11_634n);
    expect(response.headers.get('x-service-model-id')).toBe('judge');
    expect(response.headers.get('x-service-model-router')).toBe('stub');
    expect(Number(response.headers.get('x-service-overhead-ms'))).toBeGreaterThan(0);
  });

  it('are estimated from above by a dry run without upstream calls', async () => {
    const before = await world.entries();
    const questions = { broken: BROKEN, team: TEAM };
    const headers = { 'x-service-dry-run': 'true' };
    const response = await world.decide({ questions }, { headers });
    const { bounds } = (await response.json()) as {
      bounds: { cost: { usd: number }; prompt_tokens: number }[];
    };
    expect(world.stub.received).toEqual([]);
    expect(await world.entries()).toEqual(before);
    world.stub.otherwise = { alternatives: { yes: 0.5, A: 0.5 } };
    const { usage } = await decisionOf(await world.decide({ questions }));
    expect(usage.input_tokens).toBeLessThanOrEqual(bounds[0]?.prompt_tokens ?? 0);
    expect(bounds[0]?.cost.usd).toBeCloseTo(((bounds[0]?.prompt_tokens ?? 0) * 0.042) / 1e6, 9);
  });

  it('require funds for the maximum before any call', async () => {
    const { secret: key, accountId } = await world.api.newKey('INFERENCE');
    const response = await world.decide({}, { key } as RequestInit);
    expect([response.status, accountId !== world.accountId]).toEqual([402, true]);
    expect(world.stub.received).toEqual([]);
  });

  it('are not charged when one call fails, which also ends the others', async () => {
    const before = await world.entries();
    world.stub.next = [{ status: 500, body: { error: { message: 'broken', type: 'server_error' } } }];
    world.stub.otherwise = { alternatives: { yes: 1 }, delayMs: 50 };
    const questions = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`q${at}`, BROKEN]));
    const response = await world.decide({ questions });
    expect([response.status, await response.json()]).toEqual([
      500,
      expect.objectContaining({ error: 'Inference failed. Nothing was charged; please try again.' }),
    ]);
    await world.settled();
    expect(await world.entries()).toEqual(before);
    expect(world.stub.received.length).toBeLessThan(40);
    await vi.waitFor(() => expect(world.stub.running()).toBe(0), { timeout: 180_000 });
  });

  test.each<[string, ChatScript, number]>([
    ['refuses', { status: 400, body: { error: { message: 'no', type: 'invalid_request_error' } } }, 400],
    ['does not accept our key', { status: 401, body: { error: { message: 'no' } } }, 503],
    ['has too many requests', { status: 429, body: { error: { message: 'no' } } }, 429],
    ['has no such model', { status: 404, body: { error: { message: 'no', code: 'model_not_found' } } }, 503],
    ['loses the reply', { lost: 'accepted' }, 500],
    ['never answers', { hang: 'head' }, 504],
  ])('are not charged when the service %s, which gives the same status as in chat', async (_name, script, status) => {
    const before = await world.entries();
    world.second.otherwise = script;
    const response = await world.decide({ model: 'judge-second' });
    expect(response.status).toBe(status);
    await world.settled();
    expect(await world.entries()).toEqual(before);
    // Wait until this failure no longer affects the upstream address.
    world.second.otherwise = { alternatives: { yes: 1 } };
    const heal = async () => (await world.decide({ model: 'judge-second' })).status;
    await expect.poll(heal, { interval: 100 }).toBe(200);
  });

  test.each([
    ['no log probabilities', { tokens: ['yes'], body: undefined, withoutLogprobs: true }],
    ['none of the labels', { alternatives: { Maybe: 0.9, Perhaps: 0.1 } }],
  ])('are not charged for an answer with %s', async (_name, script) => {
    const before = await world.entries();
    const { withoutLogprobs, ...rest } = script as { withoutLogprobs?: boolean };
    const message = { role: 'assistant', content: 'yes' };
    const body = { choices: [{ index: 0, message, logprobs: null, finish_reason: 'length' }] };
    world.stub.otherwise = withoutLogprobs ? { body } : rest;
    const response = await world.decide({});
    expect(response.status).toBe(500);
    await world.settled();
    expect(await world.entries()).toEqual(before);
  });

  it('include the calls that were answered before the client left', async () => {
    const before = await world.entries();
    world.stub.next = [{ alternatives: { yes: 1 }, usage: { prompt_tokens: 50, completion_tokens: 1 } }];
    world.stub.otherwise = { hang: 'head' };
    const leaving = new AbortController();
    const questions = { one: BROKEN, two: BROKEN };
    const asked = world.decide({ questions }, { signal: leaving.signal }).catch(() => undefined);
    await vi.waitFor(() => expect(world.stub.received).toHaveLength(2), { timeout: 180_000 });
    leaving.abort();
    await asked;
    await world.settled();
    const entries = await world.entries();
    expect(entries.slice(before.length)).toEqual([
      { sku: 'judge-llm-mtoken', promptTokens: 50, completionTokens: 1, amountNano: 2_100n },
    ]);
  });
});

describe('names and keys', () => {
  test.each(['jev-latest', 'jev-1-13-0', 'typesafe-jev'])('%s is answered as jev-latest', async (model) => {
    world.stub.otherwise = { alternatives: { yes: 1 } };
    expect((await decisionOf(await world.decide({ model }))).model).toBe('jev-latest');
  });

  it('/systemone is an alias of the route', async () => {
    world.stub.otherwise = { alternatives: { yes: 1 } };
    const body = { model: 'judge', state: 's', questions: { q: BROKEN } };
    const response = await world.api.call('/systemone', {
      ...{ method: 'POST', key: world.key, body: JSON.stringify(body) },
      headers: { 'content-type': 'application/json' },
    });
    expect((await decisionOf(response)).answers.q).toEqual({ type: 'noul', noul: 1 });
  });

  test.each(['PRIVATE_TEXT', 'PRIVATE_ONLY'] as const)(
    'a key for %s may not call an anonymized model',
    async (modelPrivacy) => {
      const { secret: key } = await world.api.fundedKey('INFERENCE', {
        modelPrivacy,
        description: randomUUID(),
      });
      const response = await world.decide({ model: 'jev-latest' }, { key } as RequestInit);
      expect(response.status).toBe(403);
    },
  );

  it('the limits are those of decision models', async () => {
    world.stub.otherwise = { alternatives: { yes: 1 } };
    const response = await world.decide({});
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('100');
    expect(response.headers.get('x-ratelimit-limit-tokens')).toBe('1000000');
  });
});

it('charges nothing to a client that is cut off when the process ends', async () => {
  const before = await world.entries();
  world.stub.received.length = 0;
  world.stub.next = [{ alternatives: { yes: 1 }, usage: { prompt_tokens: 50, completion_tokens: 1 } }];
  world.stub.otherwise = { hang: 'head' };
  const asked = world.decide({ questions: { one: BROKEN, two: BROKEN } }).catch(() => 'cut');
  await vi.waitFor(() => expect(world.stub.received).toHaveLength(2), { timeout: 180_000 });
  world.api.inFlight.cut();
  world.api.server.closeAllConnections();
  expect(await asked).toBe('cut');
  await world.settled();
  expect(await world.entries()).toEqual(before);
});
