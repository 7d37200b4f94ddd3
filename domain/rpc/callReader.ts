/**
 * Reads the calls of a request in one pass. Ids and params stay in the sent bytes: separate objects would cost more to
 * keep than to read (bench `rpc`).
 */
import { type JsonBytes, jsonBytes } from '../json/jsonBytes.ts';
import type { JsonLimits } from '../json/jsonLimits.ts';
import {
  BEGIN,
  END,
  JsonReader,
  type JsonStep,
  MORE,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  VALUE,
} from '../json/jsonReader.ts';
import { shownName } from './methods.ts';
import { PLACES, type PlacedCalls } from './rpcCalls.ts';

const MEMBERS = {
  names: ['"id":', '"params":', '"method":', '"jsonrpc":'].map(jsonBytes),
  skipped: jsonBytes('"jsonrpc":"2.0"'),
};
const ID = 0;
const PARAMS = 1;
const METHOD = 2;
const VERSION = 3;
const LETTER_F = 0x66;
const LETTER_T = 0x74;

/** Bits for the current call: its members and its faults. */
const HAS_ID = 1;
const HAS_METHOD = 2;
const NO_OBJECT = 4;
const UNKNOWN_MEMBER = 8;
const WRONG_VERSION = 16;
const WRONG_PARAMS = 32;
const WRONG_ID = 64;

export class CallReader {
  readonly isBatch: boolean;
  readonly names: string[] = [];
  readonly placed: PlacedCalls;
  /** Number of items; 1 for a single call. */
  items = 0;
  /** Error of the first invalid item (RPC-5). `jsonrpc` may be absent; members outside JSON-RPC 2.0 are refused. */
  problem: string | undefined;
  private readonly reader: JsonReader;
  private marks = 0;
  private unknown = '';
  /** Position of the last method's name: calls of a batch often have the same method. */
  private nameAt = 0;
  private nameLength = 0;

  constructor(json: JsonBytes, limits: { json: JsonLimits; items: number }) {
    this.isBatch = json.bytes[0] === OPEN_BRACKET;
    this.placed = { json, places: new Int32Array((this.isBatch ? limits.items : 1) * PLACES) };
    this.reader = new JsonReader(limits.json, MEMBERS);
    this.reader.isPlain = true;
  }

  /** Whether the text is in its shortest form, without duplicate names. Throws JsonProblem. */
  read(): boolean {
    const { reader, isBatch } = this;
    const depth = isBatch ? 1 : 0;
    reader.reportedDepth = depth + 1;
    reader.write(this.placed.json, true);
    for (let step = reader.next(); step !== MORE; step = reader.next()) {
      if (reader.depth > depth) this.noteMember(step);
      else if (reader.depth === depth) this.noteCall(step);
    }
    return reader.isPlain;
  }

  private noteCall(step: JsonStep): void {
    if (step !== END) this.marks = step === BEGIN && this.reader.first === OPEN_BRACE ? 0 : NO_OBJECT;
    if (step === BEGIN) return;
    if (this.marks !== (HAS_ID | HAS_METHOD)) this.problem ??= this.words();
    this.items += 1;
  }

  private noteMember(step: JsonStep): void {
    const { member, first, start, end } = this.reader;
    const { places } = this.placed;
    const at = this.items * PLACES;
    if (member === PARAMS) {
      if (step === END) places[at + 3] = end;
      else if (first === OPEN_BRACKET) places[at + 2] = start;
      else this.marks |= WRONG_PARAMS;
    } else if (member === ID) {
      places[at] = start;
      places[at + 1] = end;
      // The literals true and false are invalid ids; null is valid.
      this.marks |= step === VALUE && first !== LETTER_T && first !== LETTER_F ? HAS_ID : WRONG_ID;
    } else if (member === METHOD) {
      if (step === VALUE && first === QUOTE) this.nameMethod(start, end - start);
    } else if (member === VERSION) {
      if (step !== VALUE || first !== QUOTE || this.reader.string() !== '2.0') this.marks |= WRONG_VERSION;
    } else if ((this.marks & (UNKNOWN_MEMBER | NO_OBJECT)) === 0) {
      this.marks |= UNKNOWN_MEMBER;
      this.unknown = this.reader.name();
    }
  }

  private nameMethod(at: number, length: number): void {
    const { names, nameAt, nameLength } = this;
    const isSame = length === nameLength && this.placed.json.isSame(nameAt, at, length);
    names.push(isSame ? (names[names.length - 1] as string) : this.reader.string());
    this.nameAt = at;
    this.nameLength = length;
    this.marks |= HAS_METHOD;
  }

  private words(): string {
    const { marks } = this;
    const where = this.isBatch ? `Item ${this.items}: ` : '';
    if (marks & NO_OBJECT) return `${where}a call must be a JSON object.`;
    if (marks & UNKNOWN_MEMBER) return `${where}unknown member ${shownName(this.unknown)}.`;
    if (marks & WRONG_VERSION) return `${where}"jsonrpc" must be "2.0".`;
    if (!(marks & HAS_METHOD)) return `${where}"method" must be a string.`;
    if (marks & WRONG_PARAMS) return `${where}"params" must be an array.`;
    if (marks & WRONG_ID) return `${where}"id" must be a string, a number or null.`;
    return `${where}"id" is required: notifications are not supported.`;
  }
}
