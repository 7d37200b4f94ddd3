/** Findings of a schema in the published shape: a tree of `_errors` per field, and the flat list (API-8). */
import type { z } from 'zod';

export interface ErrorTree {
  _errors: string[];
  [field: string]: ErrorTree | string[];
}

export interface Issue {
  code: string;
  path: (string | number)[];
  message: string;
  [detail: string]: unknown;
}

/** A hostile body can have a finding per byte: the first ones suffice. */
const MAX_ISSUES = 50;
const MAX_NAMES = 20;
const MAX_NAME_LENGTH = 100;

/** Codes of the public API for those of zod. */
const PUBLIC_CODES: Record<string, string> = {
  invalid_value: 'invalid_enum_value',
  invalid_format: 'invalid_string',
};

export function presentIssues(error: z.ZodError): { details: ErrorTree; issues: Issue[] } {
  const issues = withoutEchoes(error.issues.slice(0, MAX_ISSUES)).map(toIssue);
  const details = emptyTree();
  for (const issue of issues) branch(details, issue.path)._errors.push(issue.message);
  return { details, issues };
}

/** A text in place of a list has a length as well, which zod compares with the bounds of the list. */
function withoutEchoes(issues: readonly z.core.$ZodIssue[]): readonly z.core.$ZodIssue[] {
  const placeOf = ({ path }: z.core.$ZodIssue) => path.map(String).join('\0');
  const mistyped = new Set(issues.filter(({ code }) => code === 'invalid_type').map(placeOf));
  const isEcho = (issue: z.core.$ZodIssue) => issue.code === 'too_big' || issue.code === 'too_small';
  return issues.filter((issue) => !isEcho(issue) || !mistyped.has(placeOf(issue)));
}

export function presentFields(fields: Record<string, string[]>): { details: ErrorTree; issues: Issue[] } {
  const issues = Object.entries(fields).flatMap(([field, messages]) =>
    messages.map((message) => ({ code: 'custom', path: stepsTo(field), message })),
  );
  const details = emptyTree();
  for (const issue of issues) branch(details, issue.path)._errors.push(issue.message);
  return { details, issues };
}

/** `keyframes[3].image_url` and `keyframes.3.frame_index` as a schema tells the way there: places in lists are numbers. */
function stepsTo(field: string): (string | number)[] {
  const steps = field.split(/\.|\[(\d+)\]\.?/).filter((step) => step !== undefined && step !== '');
  return steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}

function toIssue(issue: z.core.$ZodIssue): Issue {
  const base = {
    code: PUBLIC_CODES[issue.code] ?? issue.code,
    path: issue.path.map((step) => (typeof step === 'symbol' ? String(step) : clip(step))),
    message: issue.message,
  };
  switch (issue.code) {
    case 'unrecognized_keys': {
      const keys = issue.keys.slice(0, MAX_NAMES).map((key) => String(clip(key)));
      return {
        ...base,
        message: `Unrecognized key(s) in object: ${keys.map((key) => `'${key}'`).join(', ')}`,
        keys,
      };
    }
    case 'invalid_type':
      return { ...base, expected: issue.expected };
    case 'invalid_value':
      return { ...base, options: issue.values.slice(0, MAX_NAMES) };
    case 'too_small':
      return {
        ...base,
        minimum: Number(issue.minimum),
        inclusive: issue.inclusive ?? true,
        type: issue.origin,
      };
    case 'too_big':
      return {
        ...base,
        maximum: Number(issue.maximum),
        inclusive: issue.inclusive ?? true,
        type: issue.origin,
      };
    default:
      return base;
  }
}

function clip(step: string | number): string | number {
  return typeof step === 'string' && step.length > MAX_NAME_LENGTH ? `${step.slice(0, MAX_NAME_LENGTH)}…` : step;
}

/** No prototype: a field may be called `__proto__`. */
function emptyTree(): ErrorTree {
  const tree: ErrorTree = Object.create(null);
  tree._errors = [];
  return tree;
}

function branch(tree: ErrorTree, path: readonly (string | number)[]): ErrorTree {
  let node = tree;
  for (const step of path) {
    const known = node[step];
    // A field that is itself called `_errors` cannot have a branch; its findings stay with its parent.
    if (Array.isArray(known)) return node;
    const next = known ?? emptyTree();
    node[step] = next;
    node = next;
  }
  return node;
}
