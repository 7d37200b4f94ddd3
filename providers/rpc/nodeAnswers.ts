/**
 * Finds the members of a node's answers in a whole or arriving body. Values stay the node's text, with every digit.
 * Positions are numbers in one array: an object per answer of a batch would cost more than parsing it (bench `rpc`).
 */
import { type JsonBytes, jsonBytes } from '../../domain/json/jsonBytes.ts';
import { JsonProblem, NO_LIMITS } from '../../domain/json/jsonLimits.ts';
import { END, JsonReader, MORE, OPEN_BRACE, OPEN_BRACKET, VALUE } from '../../domain/json/jsonReader.ts';

/** Deeper than any node's answer. */
const LIMITS = { ...NO_LIMITS, depth: 10_000 };
/** Largest batch ever sent. */
const MAX_ANSWERS = 1_000;

export const ID = 0;
export const RESULT = 1;
export const ERROR = 2;
export type AnswerMember = typeof ID | typeof RESULT | typeof ERROR;
const MEMBERS = {
  names: ['"id":', '"result":', '"error":', '"jsonrpc":'].map(jsonBytes),
  skipped: jsonBytes('"jsonrpc":"2.0"'),
};

/** Per answer: start and end of each of the three members, and two flags. No start or end is 0. */
const PLACES = 8;
const IS_OBJECT = 6;
const IS_TWICE = 7;
const NOTHING = jsonBytes('');

export class NodeAnswers {
  /** Answers that have started, in the order of the body. */
  count = 0;
  isBatch = false;
  private readonly reader = new JsonReader(LIMITS, MEMBERS);
  private places: Int32Array;
  /** Nesting depth of an answer: 1 in a batch. */
  private depth = 0;
  /** Position of the last member in `places`. */
  private at = 0;

  /** `expected`: capacity without reallocation. */
  constructor(expected: number) {
    this.places = new Int32Array(expected * PLACES);
    this.reader.reportedDepth = 0;
  }

  /** Throws JsonProblem. `isLast`: the body ends with `piece`. */
  write(piece: JsonBytes, isLast = false): void {
    const { reader } = this;
    reader.write(piece, isLast);
    for (let step = reader.next(); step !== MORE; step = reader.next()) {
      if (step === END) this.end();
      else if (reader.depth === 0 && reader.first === OPEN_BRACKET) this.beginBatch();
      else if (reader.depth === this.depth) this.beginAnswer();
      else this.noteMember(step === VALUE ? reader.end : 0);
    }
    // Recognises a large result before its end arrives.
    if (reader.isInValue() && reader.depth > this.depth) this.noteMember(0);
  }

  /** Ends the body. Throws JsonProblem. */
  finish(): void {
    this.write(NOTHING, true);
  }

  isObject(answer: number): boolean {
    return this.places[answer * PLACES + IS_OBJECT] === 1;
  }

  /** Whether one of the three members occurs more than once. */
  isTwice(answer: number): boolean {
    return this.places[answer * PLACES + IS_TWICE] === 1;
  }

  has(answer: number, member: AnswerMember): boolean {
    return this.start(answer, member) > 0;
  }

  start(answer: number, member: AnswerMember): number {
    return this.places[answer * PLACES + member * 2] as number;
  }

  /** 0: not complete yet. */
  endOf(answer: number, member: AnswerMember): number {
    return this.places[answer * PLACES + member * 2 + 1] as number;
  }

  private beginBatch(): void {
    this.isBatch = true;
    this.depth = 1;
    this.reader.reportedDepth = 1;
  }

  private beginAnswer(): void {
    if (this.count === MAX_ANSWERS) throw new JsonProblem('values');
    const at = this.count * PLACES;
    if (at === this.places.length) {
      const places = new Int32Array(Math.max(at * 2, PLACES));
      places.set(this.places);
      this.places = places;
    }
    this.count += 1;
    if (this.reader.first !== OPEN_BRACE) return;
    this.places[at + IS_OBJECT] = 1;
    this.reader.reportedDepth = this.depth + 1;
  }

  /** `end`: 0 if not complete yet. */
  private noteMember(end: number): void {
    const { reader, places } = this;
    if (!isLookedFor(reader.member)) return;
    const answer = (this.count - 1) * PLACES;
    this.at = answer + reader.member * 2;
    const before = places[this.at];
    if (before !== 0 && before !== reader.start) places[answer + IS_TWICE] = 1;
    places[this.at] = reader.start;
    places[this.at + 1] = end;
  }

  private end(): void {
    const { reader, places, at, depth } = this;
    if (reader.depth <= depth) reader.reportedDepth = depth;
    else if (isLookedFor(reader.member)) places[at + 1] = reader.end;
  }
}

function isLookedFor(member: number): boolean {
  return member >= ID && member <= ERROR;
}
