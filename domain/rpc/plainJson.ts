/**
 * Passes over JSON as programs write it: no white space, no escapes. What it takes is JSON and its own shortest form; what
 * it does not take may still be JSON, and is for a reader that knows all of it. Nothing is built of what it passes.
 */
import { type JsonBytes, jsonBytes } from './jsonBytes.ts';

interface PlainLimits {
  depth: number;
  /** Names of members and items of arrays together. */
  members: number;
  /** A name that comes twice in one object is not taken. */
  unique: boolean;
}

export const BYTE = {
  quote: 0x22,
  backslash: 0x5c,
  array: 0x5b,
  arrayEnd: 0x5d,
  object: 0x7b,
  objectEnd: 0x7d,
  comma: 0x2c,
  colon: 0x3a,
  minus: 0x2d,
  zero: 0x30,
  nine: 0x39,
} as const;
const { quote, backslash, array, arrayEnd, object, objectEnd, comma, colon, minus, zero, nine } = BYTE;

const TRUE = jsonBytes('true');
const FALSE = jsonBytes('false');
const NULL = jsonBytes('null');
/** Whether a name is new is found by looking at all before it. */
const MOST_NAMES = 16;

/** Every method passes what it is named after, and answers false where that does not come next. */
export class PlainJson {
  /** The next byte. */
  at = 0;
  private counted = 0;
  private readonly json: JsonBytes;
  private readonly bytes: Buffer;
  private readonly limits: PlainLimits;

  constructor(json: JsonBytes, limits: PlainLimits) {
    this.json = json;
    this.bytes = json.bytes;
    this.limits = limits;
  }

  value(depth: number): boolean {
    if (depth > this.limits.depth) return false;
    switch (this.bytes[this.at]) {
      case quote:
        return this.string();
      case object:
        return this.object(depth);
      case array:
        return this.array(depth);
      case 0x74:
        return this.word(TRUE);
      case 0x66:
        return this.word(FALSE);
      case 0x6e:
        return this.word(NULL);
      default:
        return this.number();
    }
  }

  string(): boolean {
    const { bytes } = this;
    const { length } = bytes;
    if (this.at >= length || bytes[this.at] !== quote) return false;
    for (let at = this.afterPlain(this.at + 1); at < length; at += 1) {
      const byte = bytes[at] as number;
      if (byte === quote) {
        this.at = at + 1;
        return true;
      }
      if (byte < 0x20 || byte === backslash) return false;
    }
    return false;
  }

  /** Passes four bytes at a time while none of them ends a string, or is none that a plain one has. */
  private afterPlain(from: number): number {
    const { view } = this.json;
    const last = view.byteLength - 4;
    let at = from;
    for (; at <= last; at += 4) {
      const four = view.getInt32(at, true);
      const quotes = four ^ 0x22222222;
      const slashes = four ^ 0x5c5c5c5c;
      // The highest bit of a byte is set in what is below 0x20, and where nothing is left of a quote or a backslash.
      const control = (four - 0x20202020) & ~four;
      const special = ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes);
      if (((control | special) & 0x80808080) !== 0) break;
    }
    return at;
  }

  next(byte: number): boolean {
    if (this.at >= this.bytes.length || this.bytes[this.at] !== byte) return false;
    this.at += 1;
    return true;
  }

  word(word: JsonBytes): boolean {
    if (!this.json.says(word, this.at)) return false;
    this.at += word.bytes.length;
    return true;
  }

  /** Whether these words stand at a place; nothing is passed. */
  says(words: Uint8Array, from: number): boolean {
    for (let index = 0; index < words.length; index += 1) {
      if (this.bytes[from + index] !== words[index]) return false;
    }
    return true;
  }

  /** Of one more member or item. */
  count(): boolean {
    this.counted += 1;
    return this.counted <= this.limits.members;
  }

  private object(depth: number): boolean {
    this.at += 1;
    if (this.next(objectEnd)) return true;
    const names: number[] = [];
    do {
      const from = this.at;
      if (!this.string() || (this.limits.unique && !this.isNew(names, from))) return false;
      if (!this.count() || !this.next(colon) || !this.value(depth + 1)) return false;
    } while (this.next(comma));
    return this.next(objectEnd);
  }

  private array(depth: number): boolean {
    this.at += 1;
    if (this.next(arrayEnd)) return true;
    do {
      if (!this.count() || !this.value(depth + 1)) return false;
    } while (this.next(comma));
    return this.next(arrayEnd);
  }

  /** `names`: where those before it begin. Quotes at their ends make the lengths part of what is compared. */
  private isNew(names: number[], from: number): boolean {
    if (names.length === MOST_NAMES) return false;
    const length = this.at - from;
    for (const before of names) if (this.json.isSame(before, from, length)) return false;
    names.push(from);
    return true;
  }

  private number(): boolean {
    this.next(minus);
    if (!this.next(zero) && !this.digits()) return false;
    if (this.next(0x2e) && !this.digits()) return false;
    if (!this.next(0x65) && !this.next(0x45)) return true;
    if (!this.next(0x2b)) this.next(minus);
    return this.digits();
  }

  private digits(): boolean {
    const { bytes, at: from } = this;
    let at = from;
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (byte < zero || byte > nine) break;
    }
    this.at = at;
    return at > from;
  }
}
