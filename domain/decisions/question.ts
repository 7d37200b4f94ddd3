/** Typed question about a state, its possible answers, and its answer (TEXT-28). */
import { certaintyOf, indexOfLargest } from './evidence.ts';

/** Text, or any JSON value. */
export type Words = string | Readonly<Record<string, unknown>> | readonly unknown[];

export type Question =
  /** Probability that something is true. */
  | { type: 'noul'; instructions: Words; criteria?: { true?: string; false?: string } }
  /** One of several options; the value describes the option, or is null. */
  | { type: 'choice'; instructions: Words; criteria: Readonly<Record<string, string | null>> }
  /** Position on a scale, from low to high. */
  | { type: 'score'; instructions: Words; criteria: readonly string[] };

export type DecisionAnswer =
  | { type: 'noul'; noul: number }
  | { type: 'choice'; choice: string; probabilities: Record<string, number>; confidence: number }
  | {
      type: 'score';
      score: number;
      legend: Record<string, string>;
      probabilities: Record<string, number>;
      confidence: number;
    };

/** Options as text for a model; `decisionAnswerOf` takes their probabilities in the same order. */
export function optionsOf(question: Question): string[] {
  switch (question.type) {
    case 'noul': {
      const { true: isTrue = '', false: isFalse = '' } = question.criteria ?? {};
      return [described('It is true', isTrue), described('It is not true', isFalse)];
    }
    case 'choice':
      return Object.entries(question.criteria).map(([name, words]) => described(name, words ?? ''));
    case 'score':
      return [...question.criteria];
  }
}

function described(name: string, words: string): string {
  return words === '' ? name : `${name}: ${words}`;
}

/** Labels for this many options; one token each with every tokenizer. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRST';
const DIGITS = '0123456789';
/** Number of alternatives to a token that services list. */
export const MAX_LABELS = LETTERS.length;

/** A whole scale is labelled by its levels, lowest 0. A part of a scale is not, because its positions would mislead. */
export function labelsOf(type: Question['type'], { count, whole }: { count: number; whole: boolean }): string[] {
  if (type === 'noul') return ['yes', 'no'];
  const alphabet = type === 'score' && whole && count <= DIGITS.length ? DIGITS : LETTERS;
  return [...alphabet.slice(0, count)];
}

/** `probabilities`: of each option; their sum is one. */
export function decisionAnswerOf(question: Question, probabilities: readonly number[]): DecisionAnswer {
  const confidence = certaintyOf(probabilities);
  switch (question.type) {
    case 'noul':
      return { type: 'noul', noul: probabilities[0] ?? 0 };
    case 'choice': {
      const names = Object.keys(question.criteria);
      const choice = names[indexOfLargest(probabilities)] ?? '';
      return { type: 'choice', choice, probabilities: keyed(names, probabilities), confidence };
    }
    case 'score': {
      const levels = question.criteria.map((_, level) => String(level));
      const score = probabilities.reduce((sum, probability, level) => sum + probability * level, 0);
      const legend = Object.fromEntries(question.criteria.map((words, level) => [String(level), words]));
      return { type: 'score', score, legend, probabilities: keyed(levels, probabilities), confidence };
    }
  }
}

function keyed(names: readonly string[], values: readonly number[]): Record<string, number> {
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? 0]));
}
