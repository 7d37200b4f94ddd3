/**
 * The one reader of JSON: of bodies, of RPC requests, and of the answers of nodes and services. It takes exactly what
 * JSON.parse takes, in pieces of any size, and keeps its limits while the text still arrives. It builds nothing: it says
 * where names and values begin and end, so that a value stays the bytes that were sent, with every digit.
 */
import { JsonBytes, jsonBytes } from './jsonBytes.ts';
import { type JsonLimits, JsonProblem, NO_LIMIT } from './jsonLimits.ts';
import { afterNumber, beginNumber, isHexDigit, isWholeNumber, NO_NUMBER } from './jsonNumber.ts';

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const OPEN_BRACKET = 0x5b;
export const OPEN_BRACE = 0x7b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Members to find. */
interface JsonMembers {
  /** Names, with quotes and colon. */
  names: readonly JsonBytes[];
  /** The last of them, which says nothing where it stands in exactly these bytes. */
  skipped: JsonBytes;
}

export type JsonStep = 0 | 1 | 2 | 3 | 4;
/** The piece is read. */
export const MORE = 0;
/** The name of a member stands from `start` to `end`, with its quotes. */
export const NAME = 1;
/** A text, a number, true, false or null stands from `start` to `end`, and begins with the byte `first`. */
export const VALUE = 2;
/** An array or an object begins at `start` with the byte `first`. */
export const BEGIN = 3;
/** An array or an object ends before `end`. */
export const END = 4;

/** States: between tokens, by what may come next. */
const ITEM = 0;
const FIRST_ITEM = 1;
const KEY = 2;
const FIRST_KEY = 3;
const BEFORE_COLON = 4;
const AFTER_VALUE = 5;
/** States: inside a token. Those of numbers follow (jsonNumber.ts). */
const STRING = 6;
const ESCAPE = 7;
const HEX = 8;
const WORD = 9;
const LETTER_U = 0x75;
const ESCAPED = new Set([...'"\\/bfnrt'].map((letter) => letter.charCodeAt(0)));
const WORDS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]));
const NOTHING = jsonBytes('');
/** Duplicate names are found by comparison with all before. */
const MAX_COMPARED_NAMES = 16;
/** Longer names that are cut by the end of a piece are none that anybody looks for. */
const MAX_CUT_NAME = 64;

/** `write` a piece, then call `next` until it says MORE. Both throw JsonProblem. */
export class JsonReader {
  /** Steps are told of the values and names with at most so many arrays and objects around them; -1: of none. */
  toldDepth = NO_LIMIT;
  /** Arrays and objects around the value or the name of the last step. */
  depth = 0;
  /** Places in the whole text. */
  start = 0;
  end = 0;
  first = 0;
  /** Index of the value's name among those to find; -1: another name. */
  member = -1;
  /** Where the string of the moment begins, or the last one did; with its quote. */
  stringAt = 0;
  /**
   * Set to true before the first piece, of a text in one piece: whether the text is in its shortest form, without white space
   * and escapes, and certainly no object has a name twice.
   */
  isPlain = false;
  private piece = NOTHING;
  private at = 0;
  /** Place of the piece in the whole text. */
  private offset = 0;
  private isLast = false;
  private state = ITEM;
  /** Bytes that opened what the place is in, outermost first. */
  private readonly open: number[] = [];
  private readonly limits: JsonLimits;
  private keys = 0;
  private values = 0;
  private members = 0;
  private readonly lookedFor: JsonMembers | undefined;
  /** Which members of the object were there, as bits. */
  private seen = 0;
  /** Place of the last name that was told of, or of a member that is not looked for. */
  private nameAt = 0;
  private nameEnd = 0;
  private isName = false;
  /** Where the last string with an escape began. */
  private escapedAt = -1;
  private hexLeft = 0;
  private word = NOTHING.bytes;
  private wordAt = 0;
  /** Places of the names of all open objects, and how many there were before each of these objects. */
  private readonly names: number[] = [];
  private namesUsed = 0;
  private readonly namesBefore: number[] = [];

  /** `members`: of the objects with `toldDepth - 1` others around. Their names are no steps: `member` says which it is. */
  constructor(limits: JsonLimits, members?: JsonMembers) {
    this.limits = limits;
    this.lookedFor = members;
  }

  /** `isLast`: the text ends with it. A name that the piece before has cut is read anew, as a whole. */
  write(piece: JsonBytes, isLast = false): void {
    const { bytes, length } = this.piece;
    const from = this.stringAt - this.offset;
    const isInName = this.isName && this.isInString() && this.open.length <= this.toldDepth;
    const isCut = isInName && from >= 0 && length - from <= MAX_CUT_NAME;
    this.offset += isCut ? from : length;
    this.piece = isCut ? new JsonBytes(Buffer.concat([bytes.subarray(from), piece.bytes])) : piece;
    if (isCut) this.state = KEY;
    this.at = 0;
    this.isLast = isLast;
  }

  next(): JsonStep {
    const { bytes, length } = this.piece;
    while (this.at < length) {
      const byte = bytes[this.at] as number;
      const step = this.state <= AFTER_VALUE ? this.between(byte) : this.inToken(byte);
      if (step !== MORE) return step;
    }
    if (!this.isLast) return MORE;
    if (isWholeNumber(this.state) && this.open.length === 0) return this.endValue();
    if (this.state !== AFTER_VALUE || this.open.length > 0) throw new JsonProblem('syntax');
    return MORE;
  }

  /** Whether the piece ended in a text, a number or a word that is told of: it began at `start`. */
  isInValue(): boolean {
    return this.state >= STRING && !(this.isName && this.isInString()) && this.open.length <= this.toldDepth;
  }

  isInString(): boolean {
    return this.state >= STRING && this.state <= HEX;
  }

  /** Whether the last string has an escape. */
  isEscaped(): boolean {
    return this.escapedAt === this.stringAt;
  }

  /** The name of the last step, or the last string, of which no piece is gone. */
  string(): string {
    const quoted = this.piece.text(this.stringAt - this.offset, this.end - this.offset);
    return this.isEscaped() ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  }

  /** The name of the value of the last step, where it is none of those that are looked for. */
  name(): string {
    return JSON.parse(this.piece.text(this.nameAt - this.offset, this.nameEnd - this.offset)) as string;
  }

  private between(byte: number): JsonStep {
    this.at += 1;
    if (byte <= 0x20) return this.space(byte);
    switch (this.state) {
      case AFTER_VALUE:
        return byte === COMMA ? this.comma() : this.close(byte);
      case BEFORE_COLON:
        if (byte !== COLON) throw new JsonProblem('syntax');
        return this.colon();
      case FIRST_KEY:
        return byte === QUOTE ? this.beginName() : this.close(byte);
      case KEY:
        if (byte !== QUOTE) throw new JsonProblem('syntax');
        return this.beginName();
      case FIRST_ITEM:
        if (byte === CLOSE_BRACKET) return this.close(byte);
        this.countMember();
        return this.beginValue(byte);
      default:
        return this.beginValue(byte);
    }
  }

  private inToken(byte: number): JsonStep {
    switch (this.state) {
      case STRING:
        return this.inString();
      case ESCAPE:
        if (byte !== LETTER_U && !ESCAPED.has(byte)) throw new JsonProblem('syntax');
        this.at += 1;
        this.hexLeft = 4;
        this.state = byte === LETTER_U ? HEX : STRING;
        return MORE;
      case HEX:
        if (!isHexDigit(byte)) throw new JsonProblem('syntax');
        this.at += 1;
        this.hexLeft -= 1;
        if (this.hexLeft === 0) this.state = STRING;
        return MORE;
      case WORD:
        if (byte !== this.word[this.wordAt]) throw new JsonProblem('syntax');
        this.at += 1;
        this.wordAt += 1;
        return this.wordAt === this.word.length ? this.endValue() : MORE;
      default:
        return this.inNumber();
    }
  }

  private space(byte: number): JsonStep {
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) throw new JsonProblem('syntax');
    this.isPlain = false;
    return MORE;
  }

  private comma(): JsonStep {
    const { open } = this;
    if (open.length === 0) throw new JsonProblem('syntax');
    this.values += 1;
    if (this.values > this.limits.values) throw new JsonProblem('values');
    const isInArray = open[open.length - 1] === OPEN_BRACKET;
    this.state = isInArray ? ITEM : KEY;
    if (isInArray) this.countMember();
    // Common continuation, handled without a further step.
    const { bytes, length } = this.piece;
    return this.at < length && bytes[this.at] === QUOTE ? this.between(QUOTE) : MORE;
  }

  private colon(): JsonStep {
    this.countMember();
    this.keys += 1;
    if (this.keys > this.limits.keys) throw new JsonProblem('keys');
    this.state = ITEM;
    return MORE;
  }

  private countMember(): void {
    this.members += 1;
    if (this.members > this.limits.members) throw new JsonProblem('members');
  }

  private beginValue(byte: number): JsonStep {
    const { open, limits, toldDepth } = this;
    const depth = open.length;
    if (depth >= limits.levels) throw new JsonProblem('levels');
    if (depth <= toldDepth) {
      this.depth = depth;
      this.start = this.offset + this.at - 1;
      this.first = byte;
    }
    if (byte === QUOTE) return this.beginString(false);
    if (byte !== OPEN_BRACE && byte !== OPEN_BRACKET) return this.beginPlain(byte);
    if (depth >= limits.depth) throw new JsonProblem('depth');
    open.push(byte);
    this.state = byte === OPEN_BRACE ? FIRST_KEY : FIRST_ITEM;
    this.namesBefore.push(this.namesUsed);
    if (depth < toldDepth) this.seen = 0;
    return depth <= toldDepth ? BEGIN : MORE;
  }

  /** A number, true, false or null. */
  private beginPlain(byte: number): JsonStep {
    this.state = beginNumber(byte);
    if (this.state !== NO_NUMBER) return this.inNumber();
    const word = WORDS.get(byte);
    if (word === undefined) throw new JsonProblem('syntax');
    this.word = word;
    this.wordAt = 1;
    this.state = WORD;
    return MORE;
  }

  private beginString(isName: boolean): JsonStep {
    this.isName = isName;
    this.stringAt = this.offset + this.at - 1;
    this.state = STRING;
    return this.inString();
  }

  private inString(): JsonStep {
    const { piece } = this;
    const { bytes, length } = piece;
    for (let at = piece.afterPlain(this.at); at < length; at += 1) {
      const byte = bytes[at] as number;
      if (byte < 0x20) throw new JsonProblem('syntax');
      if (byte !== QUOTE && byte !== BACKSLASH) continue;
      this.at = at + 1;
      if (byte === QUOTE) return this.isName ? this.endName() : this.endValue();
      this.escapedAt = this.stringAt;
      this.isPlain = false;
      this.state = ESCAPE;
      return MORE;
    }
    this.at = length;
    return MORE;
  }

  private inNumber(): JsonStep {
    const { bytes, length } = this.piece;
    let { at, state } = this;
    for (; at < length; at += 1) {
      const next = afterNumber(state, bytes[at] as number);
      if (next === NO_NUMBER) break;
      state = next;
    }
    this.at = at;
    this.state = state;
    if (at === length) return MORE;
    if (!isWholeNumber(state)) throw new JsonProblem('syntax');
    return this.endValue();
  }

  private endValue(): JsonStep {
    this.state = AFTER_VALUE;
    if (this.open.length > this.toldDepth) return MORE;
    this.end = this.offset + this.at;
    return VALUE;
  }

  private close(byte: number): JsonStep {
    const { open } = this;
    // Each closing mark is two more than its opening one.
    if (open.pop() !== byte - 2) throw new JsonProblem('syntax');
    this.namesUsed = this.namesBefore.pop() as number;
    this.state = AFTER_VALUE;
    if (open.length > this.toldDepth) return MORE;
    this.depth = open.length;
    this.end = this.offset + this.at;
    return END;
  }

  private beginName(): JsonStep {
    const { lookedFor } = this;
    const isFound = lookedFor !== undefined && this.open.length === this.toldDepth && this.passMember(lookedFor);
    return isFound ? MORE : this.beginString(true);
  }

  /** Whether it is one to find: nearly all are, and are not decoded (bench `rpc`). */
  private passMember({ names, skipped }: JsonMembers): boolean {
    const { piece } = this;
    const at = this.at - 1;
    const isSkipped = piece.says(skipped, at);
    let index = isSkipped ? names.length - 1 : 0;
    while (!isSkipped && index < names.length && !piece.says(names[index] as JsonBytes, at)) index += 1;
    const passed = isSkipped ? skipped : names[index];
    if (passed === undefined) return false;
    this.at = at + passed.length;
    this.noteMember(index);
    this.colon();
    if (isSkipped) this.state = AFTER_VALUE;
    return true;
  }

  private noteMember(member: number): void {
    this.member = member;
    if ((this.seen & (1 << member)) !== 0) this.isPlain = false;
    this.seen |= 1 << member;
  }

  private endName(): JsonStep {
    this.state = BEFORE_COLON;
    this.end = this.offset + this.at;
    if (this.isPlain) this.compareName();
    if (this.open.length > this.toldDepth) return MORE;
    this.nameAt = this.stringAt;
    this.nameEnd = this.end;
    if (this.lookedFor !== undefined) {
      this.noteMember(this.rareMember(this.lookedFor));
      return MORE;
    }
    this.depth = this.open.length;
    this.start = this.stringAt;
    return NAME;
  }

  /** Index of a name that is written with escapes, or with a space behind it; -1: another name. */
  private rareMember({ names }: JsonMembers): number {
    if (this.stringAt < this.offset) return -1;
    const written = this.string();
    return names.findIndex((name) => JSON.parse(name.text(0, name.length - 1)) === written);
  }

  /** Quotes at their ends make the lengths of names part of what is compared. */
  private compareName(): void {
    const { names, namesBefore, piece, stringAt } = this;
    const length = this.end - stringAt;
    const before = namesBefore[namesBefore.length - 1] as number;
    if (this.namesUsed - before === MAX_COMPARED_NAMES) this.isPlain = false;
    for (let index = before; index < this.namesUsed; index += 1) {
      if (piece.isSame(names[index] as number, stringAt, length)) this.isPlain = false;
    }
    names[this.namesUsed] = stringAt;
    this.namesUsed += 1;
  }
}
