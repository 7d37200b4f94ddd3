/** Hostile values and bytes for corrupted requests. */
import fc from 'fast-check';

const WORDS = [
  ...['', ' ', '0', '-1', 'NaN', 'Infinity', '1e308', 'True', '1', 'null', 'undefined', '%', '_', '%25', '\\'],
  ...["'; drop table keys; --", "' or '1'='1", '"}]}', '{{7*7}}', '../../etc/passwd', '\u0000', '\ud800', '😀'],
  ...['__proto__', 'constructor', '0000-01-01', '+275761-01-01', '0000-01-01T00:00:00Z', '9'.repeat(400)],
  ...['00000000-0000-0000-0000-000000000000', 'a'.repeat(5_000), '\r\nX-Evil: 1', 'eyJhIjoxfQ'],
];

const ODD: unknown[] = [
  ...[null, true, false, 0, -1, 1e308, 5e-324, 2 ** 53, 0.1 + 0.2, [], {}, [[[[[]]]]], [null], { a: { b: 1 } }],
  ...WORDS,
];

export const hostileWord = fc.constantFrom(...WORDS);
const oddValue = fc.constantFrom(...ODD);

/** Hostile names of own members, as JSON creates them. */
const hostileName = fc.constantFrom('__proto__', 'constructor', 'isAdmin', 'accountId', '$ne', '', 'id');

/** An object gets one member replaced, removed or added. Other values become odd. */
export function spoiled(value: unknown): fc.Arbitrary<unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return oddValue;
  const names = Object.keys(value);
  const without = (name: string) => Object.entries(value).filter(([known]) => known !== name);
  const replaced = (name: string, odd: unknown) => Object.fromEntries([...without(name), [name, odd]]);
  const added = fc.tuple(hostileName, oddValue).map(([name, odd]) => replaced(name, odd));
  if (names.length === 0) return added;
  const some = fc.constantFrom(...names);
  return fc.oneof(
    { weight: 4, arbitrary: fc.tuple(some, oddValue).map(([name, odd]) => replaced(name, odd)) },
    { weight: 2, arbitrary: some.map((name) => Object.fromEntries(without(name))) },
    { weight: 2, arbitrary: added },
    { weight: 1, arbitrary: oddValue },
  );
}
