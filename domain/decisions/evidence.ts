/** From what a model said to probabilities: of the log probabilities of its first token, or of how often it said what. */
import type { TokenLogprob } from '../text/chat.ts';

/**
 * The probability of each label among the alternatives to a token, all spellings of a label together (`A`, ` A`, `a`).
 * A label that is not listed is less likely than all that are, and counts as 0. Null where no label is listed at all.
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
 * From independent answers; what is no label says nothing. One further answer, spread evenly over all labels, keeps what
 * was never said from being impossible, and weighs the same however many labels there are. Null where no answer is a label.
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

/** From its first letter or digit to its last. `▁` and `Ġ` are spaces in the vocabularies of some servers. */
function plain(token: string): string {
  const [word = ''] = /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su.exec(token.replace(/^[▁Ġ\s]+/u, '')) ?? [];
  return word.toLowerCase();
}

/** `A`, `**A**`, `A) because`: but a word that goes on as a sentence ("A clear case") is no label. */
function firstWord(text: string): string {
  return /^[^\p{L}\p{N}]*([\p{L}\p{N}]+)(?![\p{L}\p{N}]|[ \t]+[\p{L}\p{N}])/u.exec(text)?.[1]?.toLowerCase() ?? '';
}

function sharesOf(mass: readonly number[]): number[] | null {
  const sum = mass.reduce((total, each) => total + each, 0);
  return sum > 0 ? mass.map((each) => each / sum) : null;
}

/** The first of the largest. */
export function indexOfLargest(values: readonly number[]): number {
  return values.indexOf(Math.max(...values));
}

/** 1 where all is on one option, 0 where it is spread evenly: what is missing from the entropy that there could be. */
export function certaintyOf(probabilities: readonly number[]): number {
  if (probabilities.length < 2) return 1;
  const entropy = probabilities.reduce((sum, each) => (each > 0 ? sum - each * Math.log(each) : sum), 0);
  return Math.min(1, Math.max(0, 1 - entropy / Math.log(probabilities.length)));
}
