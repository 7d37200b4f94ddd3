/** How a decision model finds its probabilities: a setting of its entry, with defaults by what its service can tell. */
import { MAX_LABELS } from './question.ts';

export const EVALUATION_METHODS = ['logprobs', 'sampling'] as const;

export interface Evaluation {
  /** `logprobs`: of the first token, one call each; `sampling`: independent answers, `samples` calls each. */
  method: (typeof EVALUATION_METHODS)[number];
  samples: number;
  /** How many alternatives to a token the service lists: so many options are asked about at once. */
  topLogprobs: number;
  /** The model thinks unless it is told not to: with one token to answer, it must not. */
  turnOffThinking: boolean;
}

/** Where all of them say yes, it is likely to 95 %. */
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
