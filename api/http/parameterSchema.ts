/** Descriptions of query parameters that are parsed from text: clients see the type of the value. */

type ParameterSchema = { override: Record<string, unknown> };

/** A whole number. */
export function asInteger(bounds: { minimum: number; maximum?: number; default?: number }): ParameterSchema {
  return { override: { type: 'integer', ...bounds, pattern: undefined, anyOf: undefined } };
}

/** `true` or `false`. */
export function asBoolean(): ParameterSchema {
  return { override: { type: 'boolean', enum: undefined } };
}

/** A day or a moment, in UTC. */
export function asTime(format: 'date' | 'date-time', example: string): ParameterSchema {
  return { override: { type: 'string', format, examples: [example] } };
}

/** Several values: a repeated parameter, or one with commas. */
export function asList(): ParameterSchema {
  return { override: { type: 'array', items: { type: 'string' }, anyOf: undefined } };
}
