/**
 * The rate at which each model writes, measured by its last answers: for the bill of a stream that is left while its model reasons
 * unseen. Each process measures for itself and begins anew when it starts, so two of them may differ a little. A model that
 * is seldom asked is judged by old answers, however old.
 */

/** Samples kept for each model of the catalogue, so that memory is bounded. */
const MAX_SAMPLES = 100;
/** Fewer tell nothing. */
const MIN_SAMPLES = 20;
/** In a shorter answer the wait for its first token tells more of the queue than of the model. */
const MIN_TOKENS = 100;
/** A high rate, because a low one bills less than was made; the slowest answers waited in a queue. */
const SHARE_BELOW = 0.8;

interface WrittenAnswer {
  /** As the service told them. */
  completionTokens: number;
  /** From the call to the end. */
  elapsedMs: number;
}

export interface AnswerSpeeds {
  note(modelId: string, answer: WrittenAnswer): void;
  /** P80 of the last answers, a whole number; undefined until there are enough of them. */
  tokensPerSecondOf(modelId: string): number | undefined;
}

export function createAnswerSpeeds(): AnswerSpeeds {
  const samples = new Map<string, number[]>();
  return {
    note(modelId, { completionTokens, elapsedMs }) {
      if (completionTokens < MIN_TOKENS || elapsedMs <= 0) return;
      const known = samples.get(modelId) ?? [];
      if (known.length === 0) samples.set(modelId, known);
      known.push((completionTokens * 1_000) / elapsedMs);
      if (known.length > MAX_SAMPLES) known.shift();
    },
    tokensPerSecondOf(modelId) {
      const known = samples.get(modelId) ?? [];
      if (known.length < MIN_SAMPLES) return undefined;
      const sorted = known.toSorted((left, right) => left - right);
      const p80 = sorted[Math.ceil(sorted.length * SHARE_BELOW) - 1] ?? 0;
      return Math.max(1, Math.round(p80));
    },
  };
}
