/** Accepted and refused bodies of POST /decisions, field by field. A refusal makes no call and no charge. */
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { type DecisionWorld, startDecisionWorld } from './decisionWorld.ts';

let world: DecisionWorld;

beforeAll(async () => {
  world = await startDecisionWorld();
  // The longest bodies have as many tokens as the limit per minute.
  const plenty = { tokensPerMinute: 1_000_000_000, failedPer30s: 1_000_000 };
  world.api.opened.dependencies.limits.calls.overrideOf = () => plenty;
  world.stub.otherwise = { alternatives: { yes: 0.5, A: 0.5, '0': 0.5 } };
});

afterAll(() => world.close());

const noul = (more: object) => ({ questions: { q: { type: 'noul', instructions: 'Is it?', ...more } } });
const choice = (criteria: unknown) => ({
  questions: { q: { type: 'choice', instructions: 'Which?', criteria } },
});
const score = (criteria: unknown) => ({
  questions: { q: { type: 'score', instructions: 'How?', criteria } },
});
const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`o${at}`, null]));
const many = (count: number) => ({
  questions: Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`q${at}`, { type: 'noul', instructions: 'Is it?' }]),
  ),
});

describe('an accepted body', () => {
  test.each<[string, object]>([
    ['a state that is an object', { state: {} }],
    ['a state that is a list', { state: [0] }],
    ['instructions that are an object', noul({ instructions: { text: 'Is it?' } })],
    ['instructions that are a list', noul({ instructions: ['Is it?', null] })],
    ['noul without criteria', noul({})],
    ['noul with half of its criteria', noul({ criteria: { false: 'no' } })],
    ['noul with other criteria, which are dropped', noul({ criteria: { maybe: 7 } })],
    ['options with and without a description', choice({ a: 'one', b: null })],
    ['two levels', score(['low', 'high'])],
    ['a state of nearly as many tokens as there may be', { state: 'word '.repeat(31_000) }],
    ['a question without a name', { questions: { '': { type: 'noul', instructions: 'Is it?' } } }],
  ])('%s', async (_name, body) => {
    const response = await world.decide(body);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"answers"')]);
  });
});

describe('a refused body', () => {
  afterEach(async () => {
    await world.settled();
  });

  const AT_LEAST_ONE = 'At least one question is required';
  test.each<[string, object, number, string]>([
    ['no model', { model: undefined }, 400, 'model is required'],
    ['a model that is a number', { model: 7 }, 400, 'model must be a string'],
    ['an unknown model', { model: 'nobody' }, 404, 'Specified model not found'],
    ['a text model', { model: 'gpt-stub' }, 400, 'decision models only'],
    ['a model whose provider is not there', { model: 'judge-offline' }, 503, 'offline'],
    ['an unknown field', { temperature: 1 }, 400, "Unrecognized key(s) in object: 'temperature'"],
    ['no state', { state: undefined }, 400, '"path":["state"]'],
    ['an empty state', { state: '' }, 400, '"path":["state"]'],
    ['an empty list as state', { state: [] }, 400, '"path":["state"]'],
    ['a number as state', { state: 1 }, 400, '"path":["state"]'],
    ['null as state', { state: null }, 400, '"path":["state"]'],
    ['no questions', { questions: undefined }, 400, '"path":["questions"]'],
    ['not one question', { questions: {} }, 400, AT_LEAST_ONE],
    ['a list of questions', { questions: [] }, 400, '"path":["questions"]'],
    ['a question of no type', { questions: { q: { instructions: 'x' } } }, 400, '"path":["questions","q","type"]'],
    ['an unknown type', noul({ type: 'bool' }), 400, '"path":["questions","q","type"]'],
    ['an unknown field of a question', noul({ weight: 1 }), 400, "Unrecognized key(s) in object: 'weight'"],
    ['no instructions', noul({ instructions: undefined }), 400, '"path":["questions","q","instructions"]'],
    ['empty instructions', noul({ instructions: '' }), 400, '"path":["questions","q","instructions"]'],
    ['an empty list of instructions', noul({ instructions: [] }), 400, '"path":["questions","q","instructions"]'],
    ['noul with a number as criterion', noul({ criteria: { true: 1 } }), 400, '"criteria","true"'],
    ['noul with a list of criteria', noul({ criteria: [] }), 400, '"path":["questions","q","criteria"]'],
    ['a choice without options', choice(undefined), 400, '"path":["questions","q","criteria"]'],
    ['a choice of nothing', choice({}), 400, 'At least one option is required'],
    ['a choice from a list', choice(['a', 'b']), 400, '"path":["questions","q","criteria"]'],
    ['an option that is a number', choice({ a: 1 }), 400, '"criteria","a"'],
    ['a score without levels', score(undefined), 400, '"path":["questions","q","criteria"]'],
    ['a score of one level', score(['low']), 400, '"path":["questions","q","criteria"]'],
    ['a level that is no text', score(['low', 1]), 400, '"criteria",1'],
    ['levels in a map', score({ 0: 'low', 1: 'high' }), 400, '"path":["questions","q","criteria"]'],
    ['a state that is too long with its question', { state: 'word '.repeat(31_995) }, 400, 'maximum of 32000 tokens'],
    ['questions that are too long together', longQuestions(), 400, 'maximum of 64000 tokens'],
    ['a state of a megabyte', { state: 'a'.repeat(1_000_000) }, 400, 'maximum of 32000 tokens'],
    ['a state of letters without sense', { state: senseless(250_000) }, 400, 'maximum of 32000 tokens'],
    ['a body of five megabytes', { state: 'a'.repeat(5_000_000) }, 413, 'maximum allowed size'],
    ['more calls than are possible', many(401), 400, 'At most 400 questions are possible'],
    [
      'more calls by groups of options',
      { ...choice(named(1_600)), model: 'judge-narrow' },
      400,
      'take 401 calls of the model, 400 are',
    ],
    ['more calls by sampling', { model: 'judge-claude', ...many(41) }, 400, 'take 410 calls'],
    ['more options than so many calls tell apart', choice(named(8_000)), 400, 'calls of the model'],
  ])('%s', async (_name, body, status, words) => {
    const [calls, entries] = [world.stub.received.length, await world.entries()];
    const response = await world.decide(body);
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(words)]);
    expect([world.stub.received.length, await world.entries()]).toEqual([calls, entries]);
  });

  it('without a credential gets 402', async () => {
    const response = await world.decide({}, { key: undefined } as RequestInit);
    expect(response.status).toBe(402);
  });
});

/** Returns the same random letters on every run. */
function senseless(length: number): string {
  let state = 7;
  const letter = () => {
    state = (state * 48_271) % 2_147_483_647;
    return String.fromCharCode(97 + (state % 26));
  };
  return Array.from({ length }, letter).join('');
}

function longQuestions(): object {
  const question = { type: 'noul', instructions: 'word '.repeat(13_000) };
  return { questions: Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`q${at}`, question])) };
}
