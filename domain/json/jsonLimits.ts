/** Limits of JSON texts, and the error of a reader about invalid texts or exceeded limits. */

export const NO_LIMIT = 2 ** 31 - 1;
export const NO_LIMITS = {
  /** Nesting depth of arrays and objects. */
  depth: NO_LIMIT,
  /** Nesting depth of values of any kind. */
  levels: NO_LIMIT,
  keys: NO_LIMIT,
  /** Commas of arrays and objects together. */
  values: NO_LIMIT,
  /** Names of members and items of arrays together. */
  members: NO_LIMIT,
};
export type JsonLimits = Readonly<typeof NO_LIMITS>;

/** `syntax`: invalid JSON. `duplicate`: an object has the name `duplicate` twice. Else the exceeded limit. */
export class JsonProblem extends Error {
  readonly problem: keyof JsonLimits | 'syntax' | 'duplicate';
  readonly duplicate: string;

  constructor(problem: JsonProblem['problem'], duplicate = '') {
    super(`JSON: ${problem}`);
    this.problem = problem;
    this.duplicate = duplicate;
  }
}
