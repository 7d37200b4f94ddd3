/**
 * Calls as nearly all clients write them, read in one pass over their bytes: what is not as plain as that, or not right, is
 * left to the strict reader, which knows all of JSON and has the words for what is wrong.
 */
import { JsonBytes, jsonBytes } from './jsonBytes.ts';
import { BYTE, PlainJson } from './plainJson.ts';
import { PLACES, type PlacedCalls } from './rpcCalls.ts';

/** Calls, not yet admitted. */
export interface AskedCalls {
  placed: PlacedCalls;
  /** Of their methods. */
  names: readonly string[];
  isBatch: boolean;
}

interface CallLimits {
  depth: number;
  members: number;
  items: number;
}

/** `bytes`: UTF-8. Undefined: the strict reader is to read it. */
export function readPlainCalls(bytes: Buffer, limits: CallLimits): AskedCalls | undefined {
  const json = new JsonBytes(bytes);
  const isBatch = bytes[0] === BYTE.array;
  const reader = new CallReader(json, { ...limits, items: isBatch ? limits.items : 1 });
  if (!(isBatch ? reader.batch() : reader.only())) return undefined;
  return { placed: { json, places: reader.places }, names: reader.names, isBatch };
}

const ID = jsonBytes('"id":');
const METHOD = jsonBytes('"method":');
const PARAMS = jsonBytes('"params":');
const VERSION = jsonBytes('"jsonrpc":"2.0"');
/** The first letters of their names are all different. */
const LETTER = { id: 0x69, method: 0x6d, params: 0x70, version: 0x6a } as const;
/** Which members a call has, as bits. */
const HAS = { id: 1, method: 2, params: 4, version: 8 } as const;
const NEEDED = HAS.id | HAS.method;

class CallReader {
  readonly places: Int32Array;
  readonly names: string[] = [];
  private readonly most: number;
  private readonly source: JsonBytes;
  private readonly bytes: Buffer;
  private readonly json: PlainJson;
  /** Of the call under way. */
  private has = 0;
  /** Where the last method's name stands, with its quotes: calls of a batch often have the same. */
  private nameAt = 0;
  private nameLength = 0;

  constructor(source: JsonBytes, { depth, members, items }: CallLimits) {
    this.most = items;
    this.places = new Int32Array(items * PLACES);
    this.source = source;
    this.bytes = source.bytes;
    this.json = new PlainJson(source, { depth, members, unique: true });
  }

  only(): boolean {
    return this.call(1) && this.isAtEnd();
  }

  batch(): boolean {
    const { json } = this;
    json.at = 1;
    do {
      if (!json.count() || this.names.length === this.most || !this.call(2)) return false;
    } while (json.next(BYTE.comma));
    return json.next(BYTE.arrayEnd) && this.isAtEnd();
  }

  private isAtEnd(): boolean {
    return this.json.at === this.bytes.length;
  }

  private call(depth: number): boolean {
    const { json } = this;
    const at = this.names.length * PLACES;
    this.has = 0;
    if (!json.next(BYTE.object)) return false;
    do {
      if (!json.count() || !this.member(at, depth + 1)) return false;
    } while (json.next(BYTE.comma));
    return json.next(BYTE.objectEnd) && (this.has & NEEDED) === NEEDED;
  }

  /** False: it is none of the four, not right, or comes twice. */
  private member(at: number, depth: number): boolean {
    const { json, bytes } = this;
    switch (bytes[json.at + 1]) {
      case LETTER.id:
        return this.isNew(HAS.id) && json.word(ID) && isOfId(bytes[json.at]) && this.place(at, depth);
      case LETTER.method:
        return this.isNew(HAS.method) && json.word(METHOD) && this.name();
      case LETTER.params:
        if (!this.isNew(HAS.params) || !json.word(PARAMS)) return false;
        return bytes[json.at] === BYTE.array && this.place(at + 2, depth);
      case LETTER.version:
        return this.isNew(HAS.version) && json.word(VERSION);
      default:
        return false;
    }
  }

  private isNew(member: number): boolean {
    if ((this.has & member) !== 0) return false;
    this.has |= member;
    return true;
  }

  private place(at: number, depth: number): boolean {
    const { json, places } = this;
    places[at] = json.at;
    if (!json.value(depth)) return false;
    places[at + 1] = json.at;
    return true;
  }

  private name(): boolean {
    const { json, names, nameAt, nameLength } = this;
    const from = json.at;
    if (nameLength > 0 && this.source.isSame(nameAt, from, nameLength)) {
      json.at = from + nameLength;
      names.push(names[names.length - 1] as string);
      return true;
    }
    if (!json.string()) return false;
    names.push(this.source.text(from + 1, json.at - 1));
    this.nameAt = from;
    this.nameLength = json.at - from;
    return true;
  }
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
