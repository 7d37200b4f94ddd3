/**
 * Output rate of each model, measured by its last answers: for the bill of an abandoned stream whose model reasons
 * without showing it. Each process measures for itself and begins anew at its start, so two of them may differ a
 * little. Rates of a rarely used model can be old.
 */

/** Samples kept for each model of the catalogue, so that memory is bounded. */
const MAX_SAMPLES = 100;
/** Fewer samples are not significant. */
const MIN_SAMPLES = 20;
/** In shorter answers the wait for the first token, which depends on the queue, dominates. */
const MIN_TOKENS = 100;
/** A high percentile, because a low one bills less than was made; slow answers waited in a queue. */
const SHARE_BELOW = 0.8;

interface WrittenAnswer {
  /** As the service reported them. */
  completionTokens: number;
  /** Time from the call to its end. */
  elapsedMs: number;
}

export interface AnswerSpeeds {
  note(modelId: string, answer: WrittenAnswer): void;
  /** P80 of the last answers, an integer; undefined until there are enough samples. */
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
