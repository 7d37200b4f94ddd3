/**
 * Reads JSON without losing anything: numbers stay the digits that were sent, a name that comes twice is an error, and
 * depth and count are bounded. JSON.parse keeps the last of two names and turns 12345678901234567890 into another number.
 */

export type JsonNode =
  /** `text`: as JSON; numbers as they were sent, strings with the fewest escapes. */
  | { kind: 'number' | 'literal'; text: string }
  | { kind: 'string'; text: string; value: string }
  | { kind: 'array'; items: JsonNode[] }
  | { kind: 'object'; members: Map<string, JsonNode> };

export interface StrictJsonLimits {
  depth: number;
  /** Names of members and items of arrays together. */
  members: number;
}

/** `problem`: words for the sender; `syntax` when the text is no JSON at all. */
export type StrictJson =
  | { node: JsonNode }
  | { problem: 'syntax' }
  | { problem: 'duplicate'; name: string }
  | { problem: 'depth' | 'members' };

class Refused extends Error {
  readonly found: Exclude<StrictJson, { node: JsonNode }>;
  constructor(found: Exclude<StrictJson, { node: JsonNode }>) {
    super(found.problem);
    this.found = found;
  }
}

export function readStrictJson(text: string, limits: StrictJsonLimits): StrictJson {
  const reader = new Reader(text, limits);
  try {
    const node = reader.value(1);
    reader.end();
    return { node };
  } catch (error) {
    if (error instanceof Refused) return error.found;
    throw error;
  }
}

/** Without white space; `sorted`: members in the order of their names, so that the same value is the same text. */
export function writeJson(node: JsonNode, sorted = false): string {
  if (node.kind === 'array') return `[${node.items.map((item) => writeJson(item, sorted)).join(',')}]`;
  if (node.kind !== 'object') return node.text;
  const names = [...node.members.keys()];
  if (sorted) names.sort();
  const members = names.map((name) => {
    const member = node.members.get(name);
    return `${JSON.stringify(name)}:${member ? writeJson(member, sorted) : 'null'}`;
  });
  return `{${members.join(',')}}`;
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const LITERAL = /true|false|null/y;
/** Everything a string may hold but escapes, in one go. */
const PLAIN = /[ !#-[\]-\uffff]*/y;
const SPACE = /[ \t\n\r]*/y;

class Reader {
  readonly #text: string;
  readonly #limits: StrictJsonLimits;
  #at = 0;
  #members = 0;

  constructor(text: string, limits: StrictJsonLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  value(depth: number): JsonNode {
    if (depth > this.#limits.depth) throw new Refused({ problem: 'depth' });
    this.#space();
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      case 't':
      case 'f':
      case 'n':
        return { kind: 'literal', text: this.#token(LITERAL) };
      default:
        return { kind: 'number', text: this.#token(NUMBER) };
    }
  }

  end(): void {
    this.#space();
    if (this.#at !== this.#text.length) throw syntax();
  }

  #object(depth: number): JsonNode {
    const members = new Map<string, JsonNode>();
    this.#at += 1;
    if (this.#next('}')) return { kind: 'object', members };
    do {
      this.#space();
      if (this.#text[this.#at] !== '"') throw syntax();
      const name = this.#string().value;
      if (members.has(name)) throw new Refused({ problem: 'duplicate', name });
      this.#count();
      if (!this.#next(':')) throw syntax();
      members.set(name, this.value(depth + 1));
    } while (this.#next(','));
    if (!this.#next('}')) throw syntax();
    return { kind: 'object', members };
  }

  #array(depth: number): JsonNode {
    const items: JsonNode[] = [];
    this.#at += 1;
    if (this.#next(']')) return { kind: 'array', items };
    do {
      this.#count();
      items.push(this.value(depth + 1));
    } while (this.#next(','));
    if (!this.#next(']')) throw syntax();
    return { kind: 'array', items };
  }

  #string(): { kind: 'string'; text: string; value: string } {
    const from = this.#at;
    this.#at += 1;
    let escaped = false;
    for (;;) {
      this.#match(PLAIN);
      const end = this.#text[this.#at];
      if (end === '"') break;
      if (end !== '\\') throw syntax();
      escaped = true;
      // Whatever is escaped is no end of the string; whether it may be is looked at below.
      this.#at += 2;
    }
    this.#at += 1;
    const text = this.#text.slice(from, this.#at);
    if (!escaped) return { kind: 'string', text, value: text.slice(1, -1) };
    const value = unescaped(text);
    return { kind: 'string', text: JSON.stringify(value), value };
  }

  #count(): void {
    this.#members += 1;
    if (this.#members > this.#limits.members) throw new Refused({ problem: 'members' });
  }

  /** Whether this character comes next, after white space; then it is passed. */
  #next(character: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #space(): void {
    const code = this.#text.charCodeAt(this.#at);
    if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) this.#match(SPACE);
  }

  #token(pattern: RegExp): string {
    const found = this.#match(pattern);
    if (found === '') throw syntax();
    return found;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ''] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }
}

function unescaped(text: string): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    throw syntax();
  }
}

function syntax(): Refused {
  return new Refused({ problem: 'syntax' });
}
