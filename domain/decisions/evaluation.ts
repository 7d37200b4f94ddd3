/**
 * Method of a decision model to find probabilities: a setting of its entry, with defaults by the abilities of its
 * service.
 */
import { MAX_LABELS } from './question.ts';

export const EVALUATION_METHODS = ['logprobs', 'sampling'] as const;

export interface Evaluation {
  /** `logprobs`: of the first token, one call each; `sampling`: independent answers, `samples` calls each. */
  method: (typeof EVALUATION_METHODS)[number];
  samples: number;
  /** Number of alternatives to a token that the service lists: the largest number of options per call. */
  topLogprobs: number;
  /** The model reasons by default: with one token to answer, it must not. */
  turnOffThinking: boolean;
}

/** If all samples say yes, the probability is 95 %. */
const SAMPLES = 10;

export function evaluationOf(
  { evaluation }: { evaluation?: Partial<Evaluation> },
  { lacksLogprobs }: { lacksLogprobs?: true },
): Evaluation {
  return {
    method: lacksLogprobs ? 'sampling' : 'logprobs',
    samples: SAMPLES,
    topLogprobs: MAX_LABELS,
    turnOffThinking: false,
    ...evaluation,
  };
}
