/**
 * Rewrites JSON in its shortest form without loss: numbers keep their digits, and a duplicate name is a problem.
 * JSON.parse keeps the last of two names and changes 12345678901234567890 to another number.
 */
import type { JsonBytes } from './jsonBytes.ts';
import { type JsonLimits, JsonProblem } from './jsonLimits.ts';
import { END, JsonReader, type JsonStep, OPEN_BRACKET, QUOTE, VALUE } from './jsonReader.ts';

interface RewriteState {
  reader: JsonReader;
  json: JsonBytes;
  isSorted: boolean;
}

/**
 * Without white space, with the fewest escapes. `isSorted`: members in the order of their names, so that equal values
 * are equal texts. Recursive: `limits` have a depth. Throws JsonProblem.
 */
export function rewriteJson(json: JsonBytes, limits: JsonLimits, isSorted = false): string {
  const reader = new JsonReader(limits);
  reader.write(json, true);
  const text = textOf({ reader, json, isSorted }, reader.next());
  reader.next();
  return text;
}

/** `step`: the first one of the value. */
function textOf(rewriting: RewriteState, step: JsonStep): string {
  const { reader, json, isSorted } = rewriting;
  if (step === VALUE) {
    const isEscaped = reader.first === QUOTE && reader.isEscaped();
    return isEscaped ? JSON.stringify(reader.string()) : json.text(reader.start, reader.end);
  }
  if (reader.first === OPEN_BRACKET) {
    const items: string[] = [];
    for (let item = reader.next(); item !== END; item = reader.next()) items.push(textOf(rewriting, item));
    return `[${items.join(',')}]`;
  }
  const members = new Map<string, string>();
  while (reader.next() !== END) {
    const name = reader.string();
    if (members.has(name)) throw new JsonProblem('duplicate', name);
    members.set(name, textOf(rewriting, reader.next()));
  }
  const names = [...members.keys()];
  if (isSorted) names.sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${members.get(name)}`).join(',')}}`;
}
