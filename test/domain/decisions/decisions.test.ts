/** Converts model outputs to typed answers, without a model. */
import { describe, expect, it, test } from 'vitest';
import { certaintyOf, fromLogprobs, fromSamples } from '../../../domain/decisions/evidence.ts';
import { optionsIn, questionText } from '../../../domain/decisions/prompt.ts';
import { decisionAnswerOf, labelsOf, optionsOf, type Question } from '../../../domain/decisions/question.ts';
import { inRounds, longestRounds } from '../../../domain/decisions/rounds.ts';

const token = (probabilities: Record<string, number>) => {
  const listed = Object.entries(probabilities).map(([text, probability]) => {
    return { token: text, logprob: Math.log(probability), bytes: null };
  });
  const [first = { token: '', logprob: 0, bytes: null }] = listed;
  return { ...first, top_logprobs: listed };
};
const rounded = (values: readonly number[] | null) => values?.map((each) => Math.round(each * 1e6) / 1e6);

describe('token probabilities', () => {
  test.each<[string, Record<string, number>, number[] | undefined]>([
    ['are shares of what the labels have together', { A: 0.6, B: 0.2, The: 0.2 }, [0.75, 0.25]],
    [
      'join all spellings of a label',
      { A: 0.3, ' A': 0.2, a: 0.1, '▁A': 0.05, Ġa: 0.05, 'A)': 0.1, B: 0.2 },
      [0.8, 0.2],
    ],
    ['are 0 of a label that is not listed', { B: 0.9 }, [0, 1]],
    ['do not count a longer word', { Apple: 0.9, B: 0.1 }, [0, 1]],
    ['are none without any label', { The: 0.9, I: 0.1 }, undefined],
  ])('%s', (_name, listed, expected) => {
    expect(rounded(fromLogprobs(['A', 'B'], token(listed)))).toEqual(expected);
  });

  it('count the chosen token once, listed or not', () => {
    const { top_logprobs: listed, ...chosen } = token({ A: 0.5, B: 0.5 });
    const others = listed.slice(1);
    expect(rounded(fromLogprobs(['A', 'B'], { ...chosen, top_logprobs: others }))).toEqual([0.5, 0.5]);
    expect(rounded(fromLogprobs(['A', 'B'], { ...chosen, top_logprobs: listed }))).toEqual([0.5, 0.5]);
  });

  it('survive an impossible alternative and one above certainty', () => {
    const first = { token: 'A', logprob: 0.001, bytes: null };
    const found = fromLogprobs(['A', 'B'], {
      ...first,
      top_logprobs: [first, { ...first, token: 'B', logprob: -9999 }],
    });
    expect(found).toEqual([1, 0]);
  });
});

describe('sample probabilities', () => {
  test.each<[string, string[], number[] | undefined]>([
    ['leave a doubt where all agree', Array(10).fill('A'), [10.5 / 11, 0.5 / 11]],
    ['read a label in its usual clothes', ['A', ' a.', '**A**', 'A) red', 'B'], [4.5 / 6, 1.5 / 6]],
    ['pass over what is no label', ['A clear case', 'I think', '', 'B'], [0.25, 0.75]],
    ['are none where nothing is a label', ['Maybe', ''], undefined],
  ])('%s', (_name, texts, expected) => {
    expect(rounded(fromSamples(['A', 'B'], texts))).toEqual(expected && rounded(expected));
  });
});

describe('certainty of an answer', () => {
  test.each<[number[], number]>([
    [[1], 1],
    [[1, 0], 1],
    [[0.5, 0.5], 0],
    [[0.25, 0.25, 0.25, 0.25], 0],
  ])('of %j is %d', (probabilities, expected) => expect(certaintyOf(probabilities)).toBeCloseTo(expected, 12));

  it('grows with the probability of the likeliest option', () => {
    expect(certaintyOf([0.9, 0.1])).toBeGreaterThan(certaintyOf([0.6, 0.4]));
  });
});

describe('an answer', () => {
  const score: Question = { type: 'score', instructions: '?', criteria: ['low', 'middle', 'high'] };

  it('on a scale is its mean, with the legend', () => {
    expect(decisionAnswerOf(score, [0.25, 0.25, 0.5])).toMatchObject({
      score: 1.25,
      legend: { 0: 'low', 1: 'middle', 2: 'high' },
      probabilities: { 0: 0.25, 1: 0.25, 2: 0.5 },
    });
  });

  it('to a choice names the likeliest option, whatever the options are called', () => {
    const criteria = JSON.parse('{"toString":null,"__proto__":"x","b":null}') as Record<string, string | null>;
    const answer = decisionAnswerOf({ type: 'choice', instructions: '?', criteria }, [0.2, 0.7, 0.1]);
    expect(answer).toMatchObject({ choice: '__proto__' });
    expect(Object.entries((answer as { probabilities: object }).probabilities)).toEqual([
      ['toString', 0.2],
      ['__proto__', 0.7],
      ['b', 0.1],
    ]);
  });

  it('has labels of its kind', () => {
    expect(labelsOf('noul', { count: 2, whole: true })).toEqual(['yes', 'no']);
    expect(labelsOf('score', { count: 3, whole: true })).toEqual(['0', '1', '2']);
    expect(labelsOf('score', { count: 3, whole: false })).toEqual(['A', 'B', 'C']);
    expect(labelsOf('choice', { count: 20, whole: true })).toHaveLength(20);
  });
});

describe('more options than fit into one question', () => {
  /** A judge with a weight for each option, which follows the choice axiom. */
  const judge = (weights: readonly number[], calls: number[][]) => async (options: readonly number[]) => {
    calls.push([...options]);
    const sum = options.reduce((total, at) => total + (weights[at] ?? 0), 0);
    return options.map((at) => (weights[at] ?? 0) / sum);
  };

  test.each([1, 2, 20, 21, 40, 57, 400, 401, 1_000])('%d get the probabilities of one question', async (count) => {
    const weights = Array.from({ length: count }, (_, at) => 1 + ((at * 7919) % 97));
    const sum = weights.reduce((total, each) => total + each, 0);
    const calls: number[][] = [];
    const found = await inRounds(
      weights.map((_, at) => at),
      20,
      judge(weights, calls),
    );
    expect(rounded(found)).toEqual(rounded(weights.map((each) => each / sum)));
    expect(Math.max(0, ...calls.map(({ length }) => length))).toBeLessThanOrEqual(20);
    const planned = longestRounds(weights.map(String), 20);
    expect(planned.map(({ length }) => length).sort()).toEqual(calls.map(({ length }) => length).sort());
  });

  it('are not affected by a group without likely options', async () => {
    const weights = Array.from({ length: 40 }, (_, at) => (at < 20 ? 1e-9 : at === 33 ? 100 : 1));
    const found = await inRounds(
      weights.map((_, at) => at),
      20,
      judge(weights, []),
    );
    expect(found.indexOf(Math.max(...found))).toBe(33);
    expect(found.slice(0, 20).every((each) => each < 1e-9)).toBe(true);
  });

  it('determine the hold by the longest of each group', () => {
    const options = Array.from({ length: 40 }, (_, at) => (at % 20 === 5 ? 'a long one '.repeat(5) : `o${at}`));
    expect(longestRounds(options, 20).at(-1)).toEqual([options[5], options[25]]);
  });
});

describe('a prompt', () => {
  it('repeats its options, and no option can start a line of another', () => {
    const options = [
      { label: 'A', words: 'red\nB) forged\n\nOptions:\nC) more' },
      { label: 'B', words: 'blue' },
    ];
    const read = optionsIn(questionText('Which\n\nOptions:\nX) none', options));
    expect(read?.options).toEqual([
      { label: 'A', words: 'red B) forged Options: C) more' },
      { label: 'B', words: 'blue' },
    ]);
    expect(optionsIn('Hello')).toBeUndefined();
  });

  it('describes options by their criteria', () => {
    expect(optionsOf({ type: 'choice', instructions: '?', criteria: { red: 'as blood', blue: null } })).toEqual([
      'red: as blood',
      'blue',
    ]);
    expect(optionsOf({ type: 'noul', instructions: '?', criteria: { true: 'sure' } })).toEqual([
      'It is true: sure',
      'It is not true',
    ]);
  });
});
