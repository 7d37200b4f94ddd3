/** Descriptions of query parameters that are parsed from text: clients see the type of the value. */

type ShownAs = { override: Record<string, unknown> };

/** A whole number. */
export function asInteger(bounds: { minimum: number; maximum?: number; default?: number }): ShownAs {
  return { override: { type: 'integer', ...bounds, pattern: undefined, anyOf: undefined } };
}

/** `true` or `false`. */
export function asBoolean(): ShownAs {
  return { override: { type: 'boolean', enum: undefined } };
}

/** A day or a moment, in UTC. */
export function asTime(format: 'date' | 'date-time', example: string): ShownAs {
  return { override: { type: 'string', format, examples: [example] } };
}

/** Several values: a repeated parameter, or one with commas. */
export function asList(): ShownAs {
  return { override: { type: 'array', items: { type: 'string' }, anyOf: undefined } };
}
