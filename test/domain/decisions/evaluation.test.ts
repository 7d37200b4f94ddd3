import { describe, expect, it } from 'vitest';
import { type Evaluation, evaluationOf, tellsLogprobs } from '../../../domain/decisions/evaluation.ts';
import { MOST_LABELS } from '../../../domain/decisions/question.ts';
import type { ProviderKind } from '../../../domain/providerSettings.ts';

describe('how a decision model is asked', () => {
  it.each<[ProviderKind, Evaluation['method']]>([
    ['openai', 'logprobs'],
    ['simulator', 'logprobs'],
    ['anthropic', 'sampling'],
  ])('of a provider %s: by %s', (provider, method) => {
    expect(tellsLogprobs(provider)).toBe(method === 'logprobs');
    expect(evaluationOf({}, provider)).toEqual({
      ...{ method, samples: 10, topLogprobs: MOST_LABELS, turnOffThinking: false },
    });
  });

  it.each<Partial<Evaluation>>([
    {},
    { method: 'sampling' },
    { samples: 3 },
    { topLogprobs: 5, turnOffThinking: true },
    { method: 'logprobs', samples: 1, topLogprobs: 20, turnOffThinking: false },
  ])('an entry decides what it names, and nothing else: %j', (evaluation) => {
    for (const provider of ['openai', 'anthropic'] as const) {
      expect(evaluationOf({ evaluation }, provider)).toEqual({
        ...evaluationOf({}, provider),
        ...evaluation,
      });
    }
  });
});
