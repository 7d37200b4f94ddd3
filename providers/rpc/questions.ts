/** Builds requests to nodes with Farebox's own ids, and reads each call's outcome from the reply. */
import { JsonBytes, jsonBytes } from '../../domain/json/jsonBytes.ts';
import { JsonWriter } from '../../domain/json/jsonWriter.ts';
import { isRefusedForNow } from '../../domain/rpc/refusedForNow.ts';
import type { CallMethod, RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { type AnswerMember, ERROR, ID, NodeAnswers, RESULT } from './nodeAnswers.ts';
import type { RpcOutcome } from './rpcUpstreams.ts';

const MAX_IDS = 1_000_000_000;
let lastId = Math.floor(Math.random() * MAX_IDS);

/** Returns the first of `count` consecutive ids, so that ids of another reply never match by chance. */
export function takeIds(count: number): number {
  if (lastId + count >= MAX_IDS) lastId = 0;
  const first = lastId + 1;
  lastId += count;
  return first;
}

/** A single call is sent as an object: some nodes take no batches. */
export function questionOf(calls: RpcCalls, firstId: number): Buffer {
  const question = new JsonWriter(calls.sizeBytes() + calls.length * ABOUT_BYTES);
  const isBatch = calls.length !== 1;
  // Calls of a batch often have the same method.
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

/** Approximate bytes of a call without its params. */
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
  /** Texts that an error may repeat and clients must not see. */
  secrets: readonly string[];
}

/** Longer errors are not about capacity. */
const MAX_READ_ERROR = 8_192;
/** A hundred are in memory at once; the log of a simulated transaction has some kilobytes. */
const MAX_ERROR_BYTES = 64 * 1024;
const MISMATCHED: RpcOutcome = { kind: 'mismatched' };
export const BROKEN: RpcOutcome = { kind: 'failed', reason: 'broken', sent: true };

/** The whole reply of a node. */
interface ReadAnswers {
  asked: NodeQuestions;
  json: JsonBytes;
  answers: NodeAnswers;
}

/** Returns one outcome per call. `answers`: already parsed, if given. Throws JsonProblem. */
export function readOutcomes(asked: NodeQuestions, bytes: Buffer, answers?: NodeAnswers): RpcOutcome[] {
  const { length } = asked.calls;
  const reading = { asked, json: new JsonBytes(bytes), answers: answers ?? new NodeAnswers(length) };
  if (answers === undefined) reading.answers.write(reading.json, true);
  const { count, isBatch } = reading.answers;
  const outcomes: RpcOutcome[] = new Array(length);
  // An object in reply to a batch concerns the whole batch. A batch in reply to an object is invalid.
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

/** Position of the call by its id; undefined for an id that was not sent. */
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
  // `"error":null` beside a result means success in JSON-RPC 1.0, which some nodes still send.
  const hasError = answers.has(answer, ERROR) && !isNull(reading, answer, ERROR);
  if (answers.isTwice(answer)) return MISMATCHED;
  if (hasError && (!hasResult || isNull(reading, answer, RESULT))) {
    return errorOf(reading, position, answer);
  }
  if (hasError || !hasResult) return MISMATCHED;
  const start = answers.start(answer, RESULT);
  return { kind: 'result', json, start, end: answers.endOf(answer, RESULT), cached: false };
}

/** Outcome of a call whose position holds an answer with another id. */
function strangerOf(reading: ReadAnswers, position: number): RpcOutcome {
  const { answers } = reading;
  if (!answers.isObject(position) || positionOf(reading, position) !== undefined) return BROKEN;
  const isUnread = !answers.has(position, ID) || isNull(reading, position, ID);
  const hasError = answers.has(position, ERROR) && !isNull(reading, position, ERROR);
  // A node that could not parse a call replies without its id.
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

/** Checks the form of JSON-RPC 2.0, which clients expect. */
function isRpcError(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  return 'code' in error && typeof error.code === 'number' && 'message' in error && typeof error.message === 'string';
}

function ofWholeBatch(reading: ReadAnswers): RpcOutcome {
  if (!reading.answers.has(0, ERROR) || reading.answers.has(0, RESULT)) return BROKEN;
  const outcome = errorOf(reading, 0, 0);
  // It answers none of the calls.
  return outcome.kind === 'failed' ? outcome : BROKEN;
}

/** In JSON only `null` begins with this byte. */
function isNull({ json, answers }: ReadAnswers, answer: number, member: AnswerMember): boolean {
  return json.bytes[answers.start(answer, member)] === 0x6e;
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text);
}
