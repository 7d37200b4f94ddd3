/** Converts findings of zod to lines of the form `path: found …, allowed: …`, without printing a secret. */
import type { z } from 'zod';

/** Thrown when the environment or the configuration file cannot be used. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(where: string, problems: readonly string[]) {
    super(`${where}: ${problems.length === 1 ? problems[0] : problems.map((line) => `\n  ${line}`).join('')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

const MAX_PROBLEMS = 20;
const MAX_FOUND = 80;
/** Many node services take their key in the path. */
const NODE_URLS: ReadonlySet<PropertyKey> = new Set(['endpoints', 'rpcUrl', 'rpcUrls']);
const SECRET_KEY = /key|secret|token|password|credential|_URL$/i;

/** All problems of one parse, at most 20 and the number of further ones. */
export function describeProblems(issues: readonly Issue[], input: unknown): string[] {
  const lines = issues.flatMap((issue) => describe(issue, input));
  const rest = lines.length - MAX_PROBLEMS;
  return rest > 0 ? [...lines.slice(0, MAX_PROBLEMS), `… and ${rest} more`] : lines;
}

export function problemLine(path: Path, found: string, allowed: string): string {
  return `${pathText(path)}: found ${found}, allowed: ${allowed}`;
}

/** Path in the form `models[0].spec["a key"]`. */
function pathText(path: Path): string {
  let written = '';
  for (const step of path) {
    if (typeof step === 'number') written += `[${step}]`;
    else if (!/^[A-Za-z_$][\w$-]*$/.test(String(step))) written += `[${JSON.stringify(String(step))}]`;
    else written += written === '' ? String(step) : `.${String(step)}`;
  }
  return written === '' ? '(the whole file)' : written;
}

function describe(issue: Issue, input: unknown): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => problemLine([...issue.path, key], 'an unknown key', issue.message));
  }
  if (issue.code === 'invalid_key') {
    const found = JSON.stringify(issue.path.at(-1));
    return issue.issues.map((inner) => problemLine(issue.path, `the key ${found}`, allowed(inner)));
  }
  return [problemLine(issue.path, foundText(issue.path, input), allowed(issue))];
}

function allowed(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPE_WORDS[issue.expected] ?? `a value of type ${issue.expected}`;
    case 'invalid_value':
      return issue.values.map((value) => JSON.stringify(value)).join(', ');
    case 'invalid_union':
      return discriminatorOptions(issue);
    case 'too_small':
      return bound(issue.inclusive === false ? 'more than' : 'at least', issue.minimum, issue.origin);
    case 'too_big':
      return bound(issue.inclusive === false ? 'less than' : 'at most', issue.maximum, issue.origin);
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`;
    default:
      return issue.message;
  }
}

const TYPE_WORDS: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
};

function discriminatorOptions(issue: Extract<Issue, { code: 'invalid_union' }>): string {
  const options: unknown = 'options' in issue ? issue.options : undefined;
  if (!Array.isArray(options)) return issue.message;
  return options.map((option) => (option === undefined ? 'nothing' : JSON.stringify(option))).join(', ');
}

function bound(comparison: string, limit: number | bigint, origin: string): string {
  const noun = BOUND_NOUNS[origin];
  return noun === undefined ? `${comparison} ${limit}` : `${comparison} ${limit} ${noun}`;
}

const BOUND_NOUNS: Record<string, string> = { string: 'characters', array: 'entries' };

function foundText(path: Path, input: unknown): string {
  const value = valueAt(path, input);
  if (value === undefined) return 'nothing';
  if (typeof value === 'string' && hides(path, value)) return `text of ${value.length} characters (not shown)`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  const written = JSON.stringify(value);
  return written.length > MAX_FOUND ? `${written.slice(0, MAX_FOUND)}…` : written;
}

/** A value that may carry a secret: by the name of its key, as a user and password in a URL, or in the path of a node's. */
function hides(path: Path, value: string): boolean {
  if (path.some((step) => NODE_URLS.has(step))) return true;
  return SECRET_KEY.test(String(path.at(-1) ?? '')) || /:\/\/[^/]*@/.test(value);
}

function valueAt(path: Path, input: unknown): unknown {
  let value = input;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return value;
}
