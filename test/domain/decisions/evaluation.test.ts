import { describe, expect, it } from 'vitest';
import { type Evaluation, evaluationOf } from '../../../domain/decisions/evaluation.ts';
import { MAX_LABELS } from '../../../domain/decisions/question.ts';
import { PROVIDER_KINDS } from '../../providers/configured.ts';

describe('the evaluation method of a decision model', () => {
  const kindOf = (name: string) => {
    const kind = PROVIDER_KINDS.get(name);
    if (kind === undefined) throw new Error(`no kind ${name}`);
    return kind;
  };

  it.each<[string, Evaluation['method']]>([
    ['openai', 'logprobs'],
    ['simulator', 'logprobs'],
    ['anthropic', 'sampling'],
  ])('at a provider %s is %s', (provider, method) => {
    expect(kindOf(provider).lacksLogprobs !== true).toBe(method === 'logprobs');
    expect(evaluationOf({}, kindOf(provider))).toEqual({
      ...{ method, samples: 10, topLogprobs: MAX_LABELS, turnOffThinking: false },
    });
  });

  it.each<Partial<Evaluation>>([
    {},
    { method: 'sampling' },
    { samples: 3 },
    { topLogprobs: 5, turnOffThinking: true },
    { method: 'logprobs', samples: 1, topLogprobs: 20, turnOffThinking: false },
  ])('takes from the entry what it names, and nothing else: %j', (evaluation) => {
    for (const provider of ['openai', 'anthropic'] as const) {
      expect(evaluationOf({ evaluation }, kindOf(provider))).toEqual({
        ...evaluationOf({}, kindOf(provider)),
        ...evaluation,
      });
    }
  });
});
