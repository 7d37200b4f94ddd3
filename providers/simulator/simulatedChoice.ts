/**
 * What the simulator says to a question with labelled options: the more words an option shares with what stands before the
 * options, the likelier its label. It knows nothing of what they mean.
 */
import { optionsIn } from '../../domain/decisions/prompt.ts';
import type { TokenLogprob } from '../../domain/text/chat.ts';

/** The likeliest label with all of them as its alternatives; undefined where the prompt asks for no label. */
export function simulatedLabel(prompt: string, top: number): TokenLogprob | undefined {
  const found = optionsIn(prompt);
  if (found === undefined) return undefined;
  const known = wordsIn(found.before);
  const weights = found.options.map(({ words }) =>
    Math.exp([...wordsIn(words)].filter((word) => known.has(word)).length),
  );
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const listed = found.options
    .map(({ label }, at) => ({ token: label, logprob: Math.log((weights[at] ?? 0) / sum), bytes: null }))
    .sort((one, other) => other.logprob - one.logprob);
  const [first] = listed;
  return first && { ...first, top_logprobs: listed.slice(0, top) };
}

function wordsIn(text: string): Set<string> {
  return new Set(
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [],
  );
}
