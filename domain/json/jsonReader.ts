/**
 * The only JSON reader: for request bodies, RPC requests, and answers of nodes and services. It accepts exactly the
 * same texts as JSON.parse, in pieces of any size, and checks its limits while the text arrives. It builds no values:
 * it reports where names and values begin and end, so that the sent bytes are kept with every digit.
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
  /** The last name with a value that needs no step: skipped where exactly these bytes occur. */
  skipped: JsonBytes;
}

export type JsonStep = 0 | 1 | 2 | 3 | 4;
/** The piece is read; more is needed unless it is the last. */
export const MORE = 0;
/** Name of a member, from `start` to `end` with its quotes. */
export const NAME = 1;
/** String, number, true, false or null, from `start` to `end`, beginning with the byte `first`. */
export const VALUE = 2;
/** Beginning of an array or object at `start`, with the byte `first`. */
export const BEGIN = 3;
/** End of an array or object, before `end`. */
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
/** Names are compared with all before them: an object with more names is never plain. */
const MAX_COMPARED_NAMES = 16;
/** Longer names that the end of a piece cuts are never looked for. */
const MAX_CUT_NAME = 64;

/** `write` a piece, then call `next` until it returns MORE. Both throw JsonProblem. */
export class JsonReader {
  /** Deepest values and names that are reported, by the number of arrays and objects around them; -1: none. */
  reportedDepth = NO_LIMIT;
  /** Number of arrays and objects around the last reported value or name. */
  depth = 0;
  /** Positions in the whole text. */
  start = 0;
  end = 0;
  first = 0;
  /** Index of the value's name in the members to find; -1: another name. */
  member = -1;
  /** Position of the current or the last string, with its quote. */
  stringAt = 0;
  /**
   * Set it to true before a text in one piece. It stays true while the text is in its shortest form (no white space, no
   * escapes) and certainly has no duplicate names.
   */
  isPlain = false;
  private piece = NOTHING;
  private at = 0;
  /** Position of the piece in the whole text. */
  private offset = 0;
  private isLast = false;
  private state = ITEM;
  /** Opening bytes of the enclosing arrays and objects, outermost first. */
  private readonly open: number[] = [];
  private readonly limits: JsonLimits;
  private keys = 0;
  private values = 0;
  private members = 0;
  private readonly lookedFor: JsonMembers | undefined;
  /** Bits of the members found in the object. */
  private seen = 0;
  /** Position of the last reported name, or of a member that is not looked for. */
  private nameAt = 0;
  private nameEnd = 0;
  private isName = false;
  /** Position of the last string with an escape. */
  private escapedAt = -1;
  private hexLeft = 0;
  private word = NOTHING.bytes;
  private wordAt = 0;
  /** Positions of the names of all open objects, and their number before each object. */
  private readonly names: number[] = [];
  private namesUsed = 0;
  private readonly namesBefore: number[] = [];

  /** `members`: to find in objects at depth `reportedDepth - 1`; reported by `member`, not by a step of the name. */
  constructor(limits: JsonLimits, members?: JsonMembers) {
    this.limits = limits;
    this.lookedFor = members;
  }

  /** `isLast`: the text ends with this piece. A name cut by the piece before is read again as a whole. */
  write(piece: JsonBytes, isLast = false): void {
    const { bytes, length } = this.piece;
    const from = this.stringAt - this.offset;
    const isInName = this.isName && this.isInString() && this.open.length <= this.reportedDepth;
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

  /** Whether the piece ended within a reported string, number or word, which began at `start`. */
  isInValue(): boolean {
    return this.state >= STRING && !(this.isName && this.isInString()) && this.open.length <= this.reportedDepth;
  }

  isInString(): boolean {
    return this.state >= STRING && this.state <= HEX;
  }

  /** Whether the last string has an escape. */
  isEscaped(): boolean {
    return this.escapedAt === this.stringAt;
  }

  /** Name of the last step, or the last string; all its bytes must be in the present piece. */
  string(): string {
    const quoted = this.piece.text(this.stringAt - this.offset, this.end - this.offset);
    return this.isEscaped() ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  }

  /** Name of the last value, if it is not a member to find. */
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
    const { open, limits, reportedDepth } = this;
    const depth = open.length;
    if (depth >= limits.levels) throw new JsonProblem('levels');
    if (depth <= reportedDepth) {
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
    if (depth < reportedDepth) this.seen = 0;
    return depth <= reportedDepth ? BEGIN : MORE;
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
    if (this.open.length > this.reportedDepth) return MORE;
    this.end = this.offset + this.at;
    return VALUE;
  }

  private close(byte: number): JsonStep {
    const { open } = this;
    // Each closing mark is two more than its opening one.
    if (open.pop() !== byte - 2) throw new JsonProblem('syntax');
    this.namesUsed = this.namesBefore.pop() as number;
    this.state = AFTER_VALUE;
    if (open.length > this.reportedDepth) return MORE;
    this.depth = open.length;
    this.end = this.offset + this.at;
    return END;
  }

  private beginName(): JsonStep {
    const { lookedFor } = this;
    const isFound = lookedFor !== undefined && this.open.length === this.reportedDepth && this.passMember(lookedFor);
    return isFound ? MORE : this.beginString(true);
  }

  /** Whether the name is one to find: nearly all are, and are not decoded (bench `rpc`). */
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
    if (this.open.length > this.reportedDepth) return MORE;
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

  /** Index of a name written with escapes or with a space after it; -1: another name. */
  private rareMember({ names }: JsonMembers): number {
    if (this.stringAt < this.offset) return -1;
    const written = this.string();
    return names.findIndex((name) => JSON.parse(name.text(0, name.length - 1)) === written);
  }

  /** The closing quotes make names of different lengths differ. */
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
