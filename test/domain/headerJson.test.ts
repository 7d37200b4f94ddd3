import { describe, expect, it } from 'vitest';
import { MAX_HEADER_JSON_LENGTH, readHeaderJson } from '../../domain/headerJson.ts';

const encode = (text: string | Uint8Array) => Buffer.from(text).toString('base64');
const problemOf = (header: string) => {
  const reading = readHeaderJson(header);
  return reading.ok ? undefined : reading.problem;
};
/** An object with this many names. */
const named = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, 0])));
/** Nested lists of this depth. */
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

describe('a header of base64 JSON', () => {
  it.each([
    ['an object', '{"a":{"b":[1,2,{"c":null}]}}'],
    ['a list', '[1,"two",true]'],
    ['a text', '"text"'],
    ['a number', '-1.5e3'],
    ['null', 'null'],
    ['white space around it', ' \n{"a": 1}\t'],
    ['the same name in two objects', '{"a":{"x":1},"b":{"x":2}}'],
    ['names in texts', '{"a":"\\"b\\":1,{[","c:d":"\\\\"}'],
    ['names of properties that every object has', '{"__proto__":1,"constructor":2,"toString":3}'],
    ['a text outside ASCII', '{"ä":"😀"}'],
    ['as many names as are taken', named(256)],
    ['as many levels as are taken', nested(8)],
  ])('is accepted when it has %s', (_what, text) => {
    expect(readHeaderJson(encode(text))).toEqual({ ok: true, value: JSON.parse(text) });
  });

  it('is accepted without base64 padding', () => {
    expect(encode('{"a":1}')).toMatch(/=$/);
    expect(readHeaderJson(encode('{"a":1}').replace(/=+$/, ''))).toEqual({ ok: true, value: { a: 1 } });
  });

  it.each([
    ['the same name twice', '{"a":1,"a":1}'],
    ['the same name in two spellings', '{"a":1,"\\u0061":2}'],
    ['the same name twice below', '{"a":[{"b":1,"b":2}]}'],
    ['__proto__ twice', '{"__proto__":1,"__proto__":2}'],
  ])('is refused when it has %s', (_what, text) => {
    expect(problemOf(encode(text))).toBe('names a field twice');
  });

  it.each([
    ['a name too many', named(257)],
    ['a level too many', nested(9)],
    ['a level too many of objects', `${'{"a":'.repeat(9)}1${'}'.repeat(9)}`],
  ])('is refused when it has %s', (_what, text) => {
    expect(problemOf(encode(text))).toBe('has too many fields or levels');
  });

  it.each([
    ['no JSON', 'a'],
    ['nothing but a space', ' '],
    ['a text that is cut off', '{"a":"b'],
    ['something behind the value', '{} {}'],
    ['a comma too many', '[1,]'],
    ['a byte order mark', '\ufeff{}'],
  ])('is refused when it has %s', (_what, text) => {
    expect(problemOf(encode(text))).toBe('is not base64 of JSON in UTF-8');
  });

  it.each([
    ['a byte that begins nothing', [0x22, 0xff, 0x22]],
    ['an overlong spelling of a slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['half of a surrogate pair', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a character that is cut off', [0x22, 0xf0, 0x9f, 0x98, 0x22]],
  ])('is refused when its UTF-8 has %s', (_what, bytes) => {
    expect(problemOf(encode(Uint8Array.from(bytes)))).toBe('is not base64 of JSON in UTF-8');
  });

  it.each([
    ['', 'no text'],
    ['e30', undefined],
    ['e30==', 'too much padding'],
    ['e31=', 'bits that belong to no byte'],
    ['e30 ', 'a space'],
    ['eyJhIjoiw78ifQ-_', 'the alphabet of addresses'],
  ])('%j is canonical base64 unless it has %s', (header, fault) => {
    const problem = 'is not base64 of the standard alphabet in its one spelling';
    expect(problemOf(header)).toBe(fault === undefined ? undefined : problem);
  });

  it('is checked for its length before anything else', () => {
    const text = JSON.stringify('a'.repeat((MAX_HEADER_JSON_LENGTH / 4) * 3 - 2));
    expect(encode(text).length).toBe(MAX_HEADER_JSON_LENGTH);
    expect(readHeaderJson(encode(text)).ok).toBe(true);
    expect(problemOf(`${encode(text)}A`)).toBe('is longer than 8192 characters');
  });
});
