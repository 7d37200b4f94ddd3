/**
 * Reads JSON-RPC answers as they come, a piece at a time, and keeps only where their members begin and end: a value stays
 * the text that the node wrote, with every digit, and no tree is built of what is passed on. What it takes is exactly what
 * JSON.parse takes, but for a depth that no node answers with.
 */

/** Of the bytes of the whole body; `end` is -1 while the value still arrives. */
export interface Span {
  start: number;
  end: number;
}

/** One item: a member of the batch, or the only one. */
export interface ScannedAnswer extends Span {
  isObject: boolean;
  id: Span | undefined;
  result: Span | undefined;
  error: Span | undefined;
  /** One of the three was there more than once. */
  twice: boolean;
}

/** What is known of a body when all of it was read. */
export interface Scanned {
  readonly answers: readonly ScannedAnswer[];
  readonly isBatch: boolean;
}

/** The body is not JSON, or ended too early. Nothing of it is quoted. */
export class NotJson extends Error {}

const DEEPEST = 10_000;
/** More were never asked for in one batch, and each of them takes more memory than its text. */
const MOST_ANSWERS = 1_000;
/** A longer key is none of ours. */
const LONGEST_KEY = 64;

type State =
  | 'value'
  | 'first'
  | 'key'
  | 'firstKey'
  | 'colon'
  | 'after'
  | 'string'
  | 'escape'
  | 'hex'
  | 'word';
type NumberState = 'sign' | 'zero' | 'whole' | 'point' | 'fraction' | 'e' | 'eSign' | 'power';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;
const ESCAPED = new Set([...'"\\/bfnrt'].map((letter) => letter.charCodeAt(0)));
const WORDS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]));
/** A number may end here. */
const WHOLE_NUMBERS: ReadonlySet<NumberState> = new Set(['zero', 'whole', 'fraction', 'power']);

export class AnswerScanner implements Scanned {
  /** In the order of the body; the last one may still arrive. */
  readonly answers: ScannedAnswer[] = [];
  isBatch = false;
  private state: State | NumberState = 'value';
  /** Of what the place is in, outermost first: the byte that opened it. */
  private readonly inside: number[] = [];
  /** Depth at which the members of an item stand: 1, or 2 in a batch. */
  private memberDepth = 1;
  private offset = 0;
  private isKey = false;
  private key = '';
  private keyEscaped = false;
  private hexLeft = 0;
  private word = '';
  private wordAt = 0;
  private item: ScannedAnswer | undefined;
  private member: Span | undefined;

  /** Throws NotJson. */
  write(piece: Uint8Array): void {
    for (let at = 0; at < piece.length; ) at = this.step(piece, at);
    this.offset += piece.length;
  }

  /** The body has ended. Throws NotJson. */
  end(): void {
    if (this.inside.length === 0 && WHOLE_NUMBERS.has(this.state as NumberState)) this.close(this.offset);
    if (this.inside.length > 0 || this.state !== 'after') throw new NotJson('it ends too early');
  }

  /** Returns where to go on. */
  private step(piece: Uint8Array, at: number): number {
    const byte = piece[at] as number;
    if (this.state === 'string') return this.inString(piece, at);
    switch (this.state) {
      case 'value':
      case 'first':
      case 'key':
      case 'firstKey':
      case 'colon':
      case 'after':
        if (isSpace(byte)) return afterSpaces(piece, at);
        this.structural(byte, at);
        return at + 1;
      case 'escape':
        if (byte === 0x75) {
          this.hexLeft = 4;
          this.state = 'hex';
        } else if (ESCAPED.has(byte)) this.state = 'string';
        else throw new NotJson('an unknown escape');
        this.keep(byte);
        return at + 1;
      case 'hex':
        if (!isHex(byte)) throw new NotJson('an unknown escape');
        this.hexLeft -= 1;
        if (this.hexLeft === 0) this.state = 'string';
        this.keep(byte);
        return at + 1;
      case 'word':
        if (byte !== this.word.charCodeAt(this.wordAt)) throw new NotJson('an unknown word');
        this.wordAt += 1;
        if (this.wordAt === this.word.length) this.close(this.offset + at + 1);
        return at + 1;
      default:
        return this.inNumber(byte, at);
    }
  }

  private structural(byte: number, at: number): void {
    const { state } = this;
    if (state === 'after') this.afterValue(byte, at);
    else if (state === 'colon') {
      if (byte !== COLON) throw new NotJson('no colon after a key');
      this.state = 'value';
    } else if (state === 'firstKey' && byte === OBJECT_END) this.leave(OBJECT, at);
    else if (state === 'key' || state === 'firstKey') this.openKey(byte);
    else if (state === 'first' && byte === ARRAY_END) this.leave(ARRAY, at);
    else this.open(byte, at);
  }

  private openKey(byte: number): void {
    if (byte !== QUOTE) throw new NotJson('no key where one belongs');
    this.isKey = true;
    this.key = '';
    this.keyEscaped = false;
    this.state = 'string';
  }

  private afterValue(byte: number, at: number): void {
    const open = this.inside.at(-1);
    if (open === undefined) throw new NotJson('more than one value');
    if (byte === COMMA) this.state = open === OBJECT ? 'key' : 'value';
    else if (byte === OBJECT_END) this.leave(OBJECT, at);
    else if (byte === ARRAY_END) this.leave(ARRAY, at);
    else throw new NotJson('neither a comma nor an end after a value');
  }

  /** A value begins. */
  private open(byte: number, at: number): void {
    const depth = this.inside.length;
    const start = this.offset + at;
    if (depth === 0) {
      this.isBatch = byte === ARRAY;
      this.memberDepth = this.isBatch ? 2 : 1;
    }
    if (depth === this.memberDepth - 1 && !(depth === 0 && this.isBatch)) this.openItem(byte, start);
    else if (depth === this.memberDepth && this.item?.isObject) this.openMember(start);
    if (byte === OBJECT || byte === ARRAY) {
      if (depth === DEEPEST) throw new NotJson('too deep');
      this.inside.push(byte);
      this.state = byte === OBJECT ? 'firstKey' : 'first';
    } else if (byte === QUOTE) {
      this.isKey = false;
      this.state = 'string';
    } else this.openPlain(byte);
  }

  private openPlain(byte: number): void {
    if (byte === 0x2d) this.state = 'sign';
    else if (byte === 0x30) this.state = 'zero';
    else if (byte >= 0x31 && byte <= 0x39) this.state = 'whole';
    else {
      const word = WORDS.get(byte);
      if (word === undefined) throw new NotJson('no value where one belongs');
      this.word = word;
      this.wordAt = 1;
      this.state = 'word';
    }
  }

  private openItem(byte: number, start: number): void {
    if (this.answers.length === MOST_ANSWERS) throw new NotJson('too many answers');
    const none = { id: undefined, result: undefined, error: undefined };
    this.item = { start, end: -1, isObject: byte === OBJECT, ...none, twice: false };
    this.answers.push(this.item);
  }

  private openMember(start: number): void {
    const { item, key } = this;
    if (item === undefined || (key !== 'id' && key !== 'result' && key !== 'error')) return;
    if (item[key] !== undefined) item.twice = true;
    this.member = { start, end: -1 };
    item[key] = this.member;
  }

  private leave(open: number, at: number): void {
    if (this.inside.pop() !== open) throw new NotJson('the wrong end of a list or an object');
    this.close(this.offset + at + 1);
  }

  /** The value that was under way has ended before this place. */
  private close(end: number): void {
    this.state = 'after';
    const depth = this.inside.length;
    if (this.member !== undefined && depth === this.memberDepth) {
      this.member.end = end;
      this.member = undefined;
    } else if (this.item !== undefined && depth === this.memberDepth - 1) {
      this.item.end = end;
      this.item = undefined;
    }
  }

  private inString(piece: Uint8Array, from: number): number {
    let at = from;
    let byte = piece[at] as number;
    while (byte !== QUOTE && byte !== BACKSLASH && byte >= 0x20) {
      at += 1;
      if (at === piece.length) break;
      byte = piece[at] as number;
    }
    const ours = this.isKey && this.inside.length === this.memberDepth;
    if (ours && this.key.length < LONGEST_KEY) this.key += textOf(piece, from, at);
    if (at === piece.length) return at;
    if (byte === BACKSLASH) {
      this.keyEscaped = true;
      this.state = 'escape';
      this.keep(byte);
    } else if (byte !== QUOTE) throw new NotJson('a control character in a text');
    else if (this.isKey) this.closeKey(ours);
    else this.close(this.offset + at + 1);
    return at + 1;
  }

  private closeKey(ours: boolean): void {
    // It stands for the same member however it is written.
    if (ours && this.keyEscaped && this.key.length < LONGEST_KEY)
      this.key = JSON.parse(`"${this.key}"`) as string;
    this.state = 'colon';
  }

  /** A part of an escape, in a key that may be one of ours. */
  private keep(byte: number): void {
    if (this.isKey && this.inside.length === this.memberDepth && this.key.length < LONGEST_KEY) {
      this.key += String.fromCharCode(byte);
    }
  }

  private inNumber(byte: number, at: number): number {
    const state = this.state as NumberState;
    const next = byte >= 0x30 && byte <= 0x39 ? afterDigit(state, byte) : afterSign(state, byte);
    if (next !== undefined) {
      this.state = next;
      return at + 1;
    }
    if (!WHOLE_NUMBERS.has(state)) throw new NotJson('half a number');
    this.close(this.offset + at);
    return at;
  }
}

function afterDigit(state: NumberState, byte: number): NumberState | undefined {
  if (state === 'sign') return byte === 0x30 ? 'zero' : 'whole';
  if (state === 'zero') return undefined;
  if (state === 'point') return 'fraction';
  return state === 'e' || state === 'eSign' ? 'power' : state;
}

function afterSign(state: NumberState, byte: number): NumberState | undefined {
  if (byte === 0x2e && (state === 'zero' || state === 'whole')) return 'point';
  const isE = byte === 0x65 || byte === 0x45;
  if (isE && (state === 'zero' || state === 'whole' || state === 'fraction')) return 'e';
  return state === 'e' && (byte === 0x2b || byte === 0x2d) ? 'eSign' : undefined;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function afterSpaces(piece: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < piece.length && isSpace(piece[at] as number)) at += 1;
  return at;
}

function isHex(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}

/** Byte for byte: whether it is one of our keys is all that counts, and they are plain letters. */
function textOf(piece: Uint8Array, from: number, to: number): string {
  let text = '';
  for (let at = from; at < to && text.length < LONGEST_KEY; at += 1)
    text += String.fromCharCode(piece[at] as number);
  return text;
}
