/** What a text of JSON may have, and how a reader says that it has more or is none. */

export const NO_LIMIT = 2 ** 31 - 1;
export const NO_LIMITS = {
  /** Arrays and objects inside each other. */
  depth: NO_LIMIT,
  /** Values of any kind inside each other. */
  levels: NO_LIMIT,
  keys: NO_LIMIT,
  /** Commas of arrays and objects together. */
  values: NO_LIMIT,
  /** Names of members and items of arrays together. */
  members: NO_LIMIT,
};
export type JsonLimits = Readonly<typeof NO_LIMITS>;

/** `syntax`: the text is no JSON. `duplicate`: one object has the name `duplicate` twice. Else the limit that is passed. */
export class JsonProblem extends Error {
  readonly problem: keyof JsonLimits | 'syntax' | 'duplicate';
  readonly duplicate: string;

  constructor(problem: JsonProblem['problem'], duplicate = '') {
    super(`JSON: ${problem}`);
    this.problem = problem;
    this.duplicate = duplicate;
  }
}
