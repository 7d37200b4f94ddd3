/** Computes probabilities from the log probabilities of the first token, or from the frequency of answers. */
import type { TokenLogprob } from '../text/chat.ts';

/**
 * Probability of each label among the alternatives to a token, over all spellings of a label (`A`, ` A`, `a`). An
 * unlisted label is less likely than all listed ones, and counts as 0. Null when no label is listed.
 */
export function fromLogprobs(labels: readonly string[], token: TokenLogprob): number[] | null {
  const seen = new Map<string, number>();
  for (const { token: text, logprob } of [token, ...token.top_logprobs]) {
    seen.set(text, Math.exp(Math.min(0, logprob)));
  }
  const places = placesOf(labels);
  const mass = labels.map(() => 0);
  for (const [text, probability] of seen) {
    const place = places.get(plain(text));
    if (place !== undefined) mass[place] = (mass[place] ?? 0) + probability;
  }
  return sharesOf(mass);
}

/**
 * Probabilities from independent answers; other texts are ignored. One further answer, spread evenly over all labels,
 * keeps unseen labels possible, with the same weight for any number of labels. Null when no answer is a label.
 */
export function fromSamples(labels: readonly string[], texts: readonly string[]): number[] | null {
  const places = placesOf(labels);
  const said = labels.map(() => 0);
  for (const text of texts) {
    const place = places.get(firstWord(text));
    if (place !== undefined) said[place] = (said[place] ?? 0) + 1;
  }
  if (said.every((times) => times === 0)) return null;
  return sharesOf(said.map((times) => times + 1 / labels.length));
}

function placesOf(labels: readonly string[]): Map<string, number> {
  return new Map(labels.map((label, place) => [label.toLowerCase(), place]));
}

/** Trims to the first and last letter or digit. `▁` and `Ġ` are spaces in the vocabularies of some servers. */
function plain(token: string): string {
  const [word = ''] = /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su.exec(token.replace(/^[▁Ġ\s]+/u, '')) ?? [];
  return word.toLowerCase();
}

/** Accepts `A`, `**A**`, `A) because`, but not a word that continues as a sentence ("A clear case"). */
function firstWord(text: string): string {
  return /^[^\p{L}\p{N}]*([\p{L}\p{N}]+)(?![\p{L}\p{N}]|[ \t]+[\p{L}\p{N}])/u.exec(text)?.[1]?.toLowerCase() ?? '';
}

function sharesOf(mass: readonly number[]): number[] | null {
  const sum = mass.reduce((total, each) => total + each, 0);
  return sum > 0 ? mass.map((each) => each / sum) : null;
}

/** Index of the largest value, the first of equal ones. */
export function indexOfLargest(values: readonly number[]): number {
  return values.indexOf(Math.max(...values));
}

/** 1 for a single option, 0 for an even distribution: one minus the normalised entropy. */
export function certaintyOf(probabilities: readonly number[]): number {
  if (probabilities.length < 2) return 1;
  const entropy = probabilities.reduce((sum, each) => (each > 0 ? sum - each * Math.log(each) : sum), 0);
  return Math.min(1, Math.max(0, 1 - entropy / Math.log(probabilities.length)));
}
