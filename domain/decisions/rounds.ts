/**
 * Questions with more options than one call allows: first within groups, then between the first option of each group.
 * An option's probability is that of its group's first in the last round, times the ratio of the two within the group.
 * By Luce's choice axiom this equals one call with all options. It takes about n/size more calls; comparing pairs would
 * take n.
 */
import { estimateTokens } from '../text/promptSize.ts';
import { indexOfLargest } from './evidence.ts';

/** Returns the probabilities of these options, in order; their sum is one. */
type OptionScorer = (options: readonly number[]) => Promise<number[]>;

/** Groups run in parallel. `size` is 4 or more, so that no group has a single option. */
export async function inRounds(options: readonly number[], size: number, ask: OptionScorer): Promise<number[]> {
  if (options.length === 1) return [1];
  if (options.length <= size) return await ask(options);
  const groups = groupsOf(options, size);
  const within = await Promise.all(groups.map((group) => ask(group)));
  const firsts = within.map((probabilities, at) => groups[at]?.[indexOfLargest(probabilities)] ?? 0);
  const between = await inRounds(firsts, size, ask);
  const shares = within.flatMap((probabilities, at) => {
    const first = Math.max(...probabilities);
    return probabilities.map((each) => (between[at] ?? 0) * (each / first));
  });
  const sum = shares.reduce((total, each) => total + each, 0);
  return shares.map((each) => each / sum);
}

/** Calls of `inRounds`, each with the longest options that it could have. */
export function longestRounds(options: readonly string[], size: number): string[][] {
  if (options.length <= 1) return [];
  if (options.length <= size) return [[...options]];
  const groups = groupsOf(options, size);
  const longest = groups.map((group) =>
    group.reduce((most, each) => (estimateTokens(each) > estimateTokens(most) ? each : most)),
  );
  return [...groups, ...longestRounds(longest, size)];
}

/** Splits in order, into groups as equal as possible. */
function groupsOf<T>(options: readonly T[], size: number): T[][] {
  const count = Math.ceil(options.length / size);
  return Array.from({ length: count }, (_, at) => {
    const from = Math.floor((at * options.length) / count);
    return options.slice(from, Math.floor(((at + 1) * options.length) / count));
  });
}
