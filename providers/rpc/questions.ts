/** What is sent to a node, under ids of our own, and what its answer says of each call. */
import { JsonBytes, jsonBytes } from '../../domain/json/jsonBytes.ts';
import { JsonWriter } from '../../domain/json/jsonWriter.ts';
import { isRefusedForNow } from '../../domain/rpc/refusedForNow.ts';
import type { CallMethod, RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { type AnswerMember, ERROR, ID, NodeAnswers, RESULT } from './nodeAnswers.ts';
import type { RpcOutcome } from './rpcUpstreams.ts';

const MAX_IDS = 1_000_000_000;
let lastId = Math.floor(Math.random() * MAX_IDS);

/** The first of as many ids in a row: another answer's never fit by chance. */
export function takeIds(count: number): number {
  if (lastId + count >= MAX_IDS) lastId = 0;
  const first = lastId + 1;
  lastId += count;
  return first;
}

/** A single call goes as an object: some nodes take no batches. */
export function questionOf(calls: RpcCalls, firstId: number): Buffer {
  const question = new JsonWriter(calls.sizeBytes() + calls.length * ABOUT_BYTES);
  const isBatch = calls.length !== 1;
  // Calls of a batch often have the same one.
  let method: CallMethod | undefined;
  let named = NO_PARAMS;
  if (isBatch) question.put(BATCH);
  for (let index = 0; index < calls.length; index += 1) {
    if (method !== calls.method(index)) {
      method = calls.method(index);
      named = jsonBytes(`,"method":${JSON.stringify(method.name)},"params":`);
    }
    question.put(index === 0 ? FIRST : NEXT);
    question.number(firstId + index);
    question.put(named);
    if (calls.hasParams(index)) calls.writeParams(index, question);
    else question.put(NO_PARAMS);
  }
  question.put(isBatch ? BATCH_END : END);
  return question.written();
}

/** Of a call without its params. */
const ABOUT_BYTES = 80;
const FIRST = jsonBytes('{"jsonrpc":"2.0","id":');
const NEXT = jsonBytes('},{"jsonrpc":"2.0","id":');
const NO_PARAMS = jsonBytes('[]');
const BATCH = jsonBytes('[');
const BATCH_END = jsonBytes('}]');
const END = jsonBytes('}');

export interface NodeQuestions {
  calls: RpcCalls;
  firstId: number;
  /** What a node may repeat in its words, and nobody else may read. */
  secrets: readonly string[];
}

/** Longer errors are no words about capacity. */
const MAX_READ_ERROR = 8_192;
/** A hundred of them are in memory at once; the log of a simulated transaction is some kilobytes. */
const MAX_ERROR_BYTES = 64 * 1024;
const MISMATCHED: RpcOutcome = { kind: 'mismatched' };
export const BROKEN: RpcOutcome = { kind: 'failed', reason: 'broken', sent: true };

/** What came back, all of it. */
interface ReadAnswers {
  asked: NodeQuestions;
  json: JsonBytes;
  answers: NodeAnswers;
}

/** One outcome per call. `answers`: has read all of it already. Throws JsonProblem. */
export function readOutcomes(asked: NodeQuestions, bytes: Buffer, answers?: NodeAnswers): RpcOutcome[] {
  const { length } = asked.calls;
  const reading = { asked, json: new JsonBytes(bytes), answers: answers ?? new NodeAnswers(length) };
  if (answers === undefined) reading.answers.write(reading.json, true);
  const { count, isBatch } = reading.answers;
  const outcomes: RpcOutcome[] = new Array(length);
  // An object for a batch speaks of the batch; a batch for an object is none of ours.
  if (length > 1 && !isBatch) return outcomes.fill(ofWholeBatch(reading));
  if (length === 1 && isBatch) return [BROKEN];
  for (let answer = 0; answer < count; answer += 1) {
    const position = positionOf(reading, answer);
    if (position === undefined || outcomes[position] !== undefined) continue;
    outcomes[position] = outcomeOf(reading, position, answer);
  }
  for (let position = 0; position < length; position += 1) {
    outcomes[position] ??= position < count ? strangerOf(reading, position) : BROKEN;
  }
  return outcomes;
}

/** By its id; undefined for an id that is none of those that were sent. */
function positionOf({ asked, json, answers }: ReadAnswers, answer: number): number | undefined {
  const { bytes } = json;
  const start = answers.start(answer, ID);
  const end = answers.endOf(answer, ID);
  if (start === 0 || end - start > 10) return undefined;
  let number = 0;
  for (let at = start; at < end; at += 1) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  const position = number - asked.firstId;
  return position >= 0 && position < asked.calls.length ? position : undefined;
}

function outcomeOf(reading: ReadAnswers, position: number, answer: number): RpcOutcome {
  const { answers, json } = reading;
  const hasResult = answers.has(answer, RESULT);
  // `"error":null` beside a result is how JSON-RPC 1.0 says success, and some nodes still do.
  const hasError = answers.has(answer, ERROR) && !isNull(reading, answer, ERROR);
  if (answers.isTwice(answer)) return MISMATCHED;
  if (hasError && (!hasResult || isNull(reading, answer, RESULT))) {
    return errorOf(reading, position, answer);
  }
  if (hasError || !hasResult) return MISMATCHED;
  const start = answers.start(answer, RESULT);
  return { kind: 'result', json, start, end: answers.endOf(answer, RESULT), cached: false };
}

/** Where an answer stands at the place of a call, but under another id. */
function strangerOf(reading: ReadAnswers, position: number): RpcOutcome {
  const { answers } = reading;
  if (!answers.isObject(position) || positionOf(reading, position) !== undefined) return BROKEN;
  const isUnread = !answers.has(position, ID) || isNull(reading, position, ID);
  const hasError = answers.has(position, ERROR) && !isNull(reading, position, ERROR);
  // A node that could not read a call answers without its id.
  if (isUnread && hasError && !answers.has(position, RESULT) && !answers.isTwice(position)) {
    return errorOf(reading, position, position);
  }
  return MISMATCHED;
}

function errorOf({ asked, json, answers }: ReadAnswers, position: number, answer: number): RpcOutcome {
  const start = answers.start(answer, ERROR);
  const end = answers.endOf(answer, ERROR);
  if (end - start > MAX_ERROR_BYTES) return MISMATCHED;
  const text = json.text(start, end);
  const value = withoutSecrets(text, asked.secrets);
  if (text.length > MAX_READ_ERROR) return text.startsWith('{') ? { kind: 'error', value } : MISMATCHED;
  const error: unknown = JSON.parse(text);
  const { name } = asked.calls.method(position);
  if (isRefusedForNow(error, name)) return { kind: 'failed', reason: 'capacity', sent: false };
  return isRpcError(error) ? { kind: 'error', value } : MISMATCHED;
}

/** As JSON-RPC 2.0 has it, and clients read it. */
function isRpcError(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  return 'code' in error && typeof error.code === 'number' && 'message' in error && typeof error.message === 'string';
}

function ofWholeBatch(reading: ReadAnswers): RpcOutcome {
  if (!reading.answers.has(0, ERROR) || reading.answers.has(0, RESULT)) return BROKEN;
  const outcome = errorOf(reading, 0, 0);
  // Whatever it says, it is an answer to none of the calls.
  return outcome.kind === 'failed' ? outcome : BROKEN;
}

/** Of JSON: no other word begins so. */
function isNull({ json, answers }: ReadAnswers, answer: number, member: AnswerMember): boolean {
  return json.bytes[answers.start(answer, member)] === 0x6e;
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text);
}
