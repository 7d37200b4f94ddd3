/**
 * Calls as nearly all clients write them, read in one pass over their bytes: what is not as plain as that, or not right, is
 * left to the strict reader, which knows all of JSON and has the words for what is wrong.
 */
import { BYTE, bytesOf, PlainJson } from './plainJson.ts';

/** One call, not yet admitted. */
export interface AskedCall {
  /** JSON text of the id as it was sent. */
  id: string;
  method: string;
  /** JSON text in its shortest form; undefined when none were sent. */
  params: string | undefined;
}

interface CallLimits {
  depth: number;
  members: number;
  items: number;
}

/** `text`: what the bytes say, which is ASCII only. Undefined: the strict reader is to read it. */
export function readPlainCalls(
  bytes: Uint8Array,
  text: string,
  limits: CallLimits,
): { calls: AskedCall[]; isBatch: boolean } | undefined {
  // With characters of several bytes the places in the two would differ.
  if (bytes.length !== text.length) return undefined;
  const reader = new CallReader(bytes, text, limits);
  const isBatch = bytes[0] === BYTE.array;
  const calls = isBatch ? reader.batch(limits.items) : reader.only();
  return calls && { calls, isBatch };
}

const ID = bytesOf('"id":');
const METHOD = bytesOf('"method":');
const PARAMS = bytesOf('"params":');
const VERSION = bytesOf('"jsonrpc":"2.0"');

class CallReader {
  private readonly bytes: Uint8Array;
  private readonly text: string;
  private readonly json: PlainJson;
  /** Calls of a batch often have the same method: one text does for all of them. */
  private method = '';
  /** Where it stood. */
  private methodAt = 0;

  constructor(bytes: Uint8Array, text: string, { depth, members }: CallLimits) {
    this.bytes = bytes;
    this.text = text;
    this.json = new PlainJson(bytes, { depth, members, unique: true });
  }

  only(): AskedCall[] | undefined {
    const call = this.call(1);
    return call && this.isAtEnd() ? [call] : undefined;
  }

  batch(most: number): AskedCall[] | undefined {
    const { json } = this;
    const calls: AskedCall[] = [];
    json.at = 1;
    do {
      const call = json.count() && calls.length < most ? this.call(2) : undefined;
      if (!call) return undefined;
      calls.push(call);
    } while (json.next(BYTE.comma));
    return json.next(BYTE.arrayEnd) && this.isAtEnd() ? calls : undefined;
  }

  private isAtEnd(): boolean {
    return this.json.at === this.bytes.length;
  }

  private call(depth: number): AskedCall | undefined {
    const { json } = this;
    const found: Found = { id: undefined, method: undefined, params: undefined, hasVersion: false };
    if (!json.next(BYTE.object)) return undefined;
    do {
      const name = json.at;
      if (!json.string() || !json.count() || !json.next(BYTE.colon)) return undefined;
      const from = json.at;
      if (!json.value(depth + 1) || !this.take(found, name, from)) return undefined;
    } while (json.next(BYTE.comma));
    const { id, method, params } = found;
    if (!json.next(BYTE.objectEnd) || id === undefined || method === undefined) return undefined;
    return { id, method, params };
  }

  /** A member that was passed: its name begins at `name`, its value at `from`. False: it is not right, or comes twice. */
  private take(found: Found, name: number, from: number): boolean {
    const { text, bytes, json } = this;
    const first = bytes[from];
    // Names of other lengths are none of the four, and most of these are told apart by it.
    switch (from - name) {
      case ID.length:
        if (found.id !== undefined || !json.says(ID, name) || !isOfId(first)) return false;
        found.id = text.slice(from, json.at);
        return true;
      case METHOD.length:
        if (json.says(METHOD, name)) {
          if (found.method !== undefined || first !== BYTE.quote) return false;
          found.method = this.methodFrom(from);
          return true;
        }
        if (found.params !== undefined || !json.says(PARAMS, name) || first !== BYTE.array) return false;
        found.params = text.slice(from, json.at);
        return true;
      default:
        if (found.hasVersion || !json.says(VERSION, name)) return false;
        found.hasVersion = true;
        return true;
    }
  }

  private methodFrom(from: number): string {
    const { json, method, methodAt } = this;
    const length = json.at - from;
    // Its quotes are compared with it.
    if (length !== method.length + 2 || !json.isSame(methodAt, from, length)) {
      this.method = this.text.slice(from + 1, json.at - 1);
      this.methodAt = from;
    }
    return this.method;
  }
}

interface Found {
  id: string | undefined;
  method: string | undefined;
  params: string | undefined;
  hasVersion: boolean;
}

/** A text, a number or null: of the words only that one begins with an n. */
function isOfId(first: number | undefined): boolean {
  if (first === undefined) return false;
  return (
    first === BYTE.quote ||
    first === BYTE.minus ||
    first === 0x6e ||
    (first >= BYTE.zero && first <= BYTE.nine)
  );
}
