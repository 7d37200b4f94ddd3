/** Arbitraries of values that match a JSON Schema of the API description. */
import fc from 'fast-check';

interface Schema {
  $ref?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  properties?: Record<string, Schema>;
  required?: string[];
}

const LONGEST = 200;
const MAX_ITEMS = 5;

export function fromSchema(given: object): fc.Arbitrary<unknown> {
  const schema = given as Schema;
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map(fromSchema));
  const [type = 'string'] = [schema.type ?? []].flat();
  if (Array.isArray(schema.type)) {
    return fc.oneof(...schema.type.map((one) => fromSchema({ ...schema, type: one })));
  }
  return BY_TYPE[type]?.(schema) ?? fc.jsonValue();
}

const BY_TYPE: Record<string, (schema: Schema) => fc.Arbitrary<unknown>> = {
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  integer: ({ minimum = -1_000_000, maximum = 1_000_000 }) => fc.integer({ min: minimum, max: maximum }),
  number: ({ minimum = 0, maximum = 10_000 }) => fc.double({ min: minimum, max: maximum, noNaN: true }),
  string: textOf,
  array: ({ items = {}, minItems = 0, maxItems = MAX_ITEMS }) =>
    fc.array(fromSchema(items), { minLength: minItems, maxLength: Math.min(maxItems, MAX_ITEMS) }),
  object: ({ properties = {}, required = [] }) =>
    fc.record(Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, fromSchema(one)])), {
      requiredKeys: required,
    }),
};

function textOf({ pattern, minLength = 0, maxLength = LONGEST }: Schema): fc.Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  const most = Math.min(maxLength, LONGEST);
  return fc.string({ minLength: Math.min(minLength, most), maxLength: most });
}
