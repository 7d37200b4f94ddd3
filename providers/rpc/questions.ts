/** What is sent to a node, under ids of our own, and what its answer says of each call. */

import { isAscii } from 'node:buffer';
import { isRefusedForNow } from '../../domain/rpc/refusedForNow.ts';
import type { Scanned, ScannedAnswer, Span } from './answerScanner.ts';
import type { RpcItem, RpcOutcome } from './rpcUpstreams.ts';

const MOST_IDS = 1_000_000_000;
let lastId = Math.floor(Math.random() * MOST_IDS);

/** The first of as many ids in a row: another answer's never fit by chance. */
export function takeIds(count: number): number {
  if (lastId + count >= MOST_IDS) lastId = 0;
  const first = lastId + 1;
  lastId += count;
  return first;
}

/** A single item goes as an object: some nodes take no batches. */
export function questionText(items: readonly RpcItem[], firstId: number): string {
  // Put together once: a hundred texts on the way to one would be garbage.
  const parts: (string | number)[] = [];
  // Calls of a batch often have the same one.
  let named = '';
  let name = '';
  for (const [index, { method, params = '[]' }] of items.entries()) {
    if (method !== named) [named, name] = [method, `,"method":${JSON.stringify(method)},"params":`];
    parts.push(index === 0 ? FIRST : NEXT, firstId + index, name, params);
  }
  const isBatch = items.length !== 1;
  if (isBatch) parts[0] = `[${FIRST}`;
  parts.push(isBatch ? '}]' : '}');
  return parts.join('');
}

const FIRST = '{"jsonrpc":"2.0","id":';
const NEXT = `},${FIRST}`;

export interface Asked {
  items: readonly RpcItem[];
  firstId: number;
  /** What a node may repeat in its words, and nobody else may read. */
  secrets: readonly string[];
}

/** Longer errors are no words about capacity. */
const LONGEST_READ_ERROR = 8_192;
export const BROKEN: RpcOutcome = { kind: 'failed', reason: 'broken', sent: true };

/** A body and, where each of its bytes is a character, its text: parts of that cost nothing. */
interface Body {
  bytes: Buffer;
  text: string | undefined;
}

/** The text of a larger one would be kept by the smallest part of it. */
const LARGEST_TEXT = 1024 * 1024;

function bodyOf(bytes: Buffer): Body {
  return {
    bytes,
    text: bytes.length <= LARGEST_TEXT && isAscii(bytes) ? bytes.toString('latin1') : undefined,
  };
}

/** One outcome per item. All of the body was read. */
export function readOutcomes(asked: Asked, scanned: Scanned, bytes: Buffer): RpcOutcome[] {
  const { items } = asked;
  const { answers, isBatch } = scanned;
  const body = bodyOf(bytes);
  // An object for a batch speaks of the batch; a batch for an object is none of ours.
  if (items.length > 1 && !isBatch) return items.map(() => ofWholeBatch(asked, answers[0], body));
  if (items.length === 1 && isBatch) return [BROKEN];
  const found: (ScannedAnswer | undefined)[] = items.map(() => undefined);
  for (const answer of answers) {
    const position = positionOf(asked, answer, body);
    if (position !== undefined) found[position] ??= answer;
  }
  return items.map((item, index) => {
    const own = found[index];
    if (own !== undefined) return outcomeOf(asked, { item, answer: own, body });
    const inPlace = answers[index];
    if (inPlace?.isObject !== true || positionOf(asked, inPlace, body) !== undefined) return BROKEN;
    return strangerOf(asked, { item, answer: inPlace, body });
  });
}

/** By its id; undefined for an id that is none of those that were sent. */
function positionOf({ items, firstId }: Asked, { id }: ScannedAnswer, { bytes }: Body): number | undefined {
  if (id === undefined || id.end - id.start > 10) return undefined;
  let number = 0;
  for (let at = id.start; at < id.end; at += 1) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  const position = number - firstId;
  return position >= 0 && position < items.length ? position : undefined;
}

interface Found {
  item: RpcItem;
  answer: ScannedAnswer;
  body: Body;
}

function outcomeOf(asked: Asked, { item, answer, body }: Found): RpcOutcome {
  const { result, error, twice } = answer;
  // `"error":null` beside a result is how JSON-RPC 1.0 says success, and some nodes still do.
  const failed = error !== undefined && textOf(body, error) !== 'null' ? error : undefined;
  const empty = failed !== undefined && result !== undefined && textOf(body, result) === 'null';
  if (!twice && failed !== undefined && (result === undefined || empty)) {
    return errorOf(asked, item, textOf(body, failed));
  }
  if (!twice && failed === undefined && result !== undefined) {
    return { kind: 'result', value: textOf(body, result), cached: false };
  }
  return { kind: 'mismatched', value: withoutSecrets(textOf(body, answer), asked.secrets) };
}

/** Where an answer stands at the place of an item, but under another id. */
function strangerOf(asked: Asked, { item, answer, body }: Found): RpcOutcome {
  const { id, error, result } = answer;
  const unread = id === undefined || textOf(body, id) === 'null';
  // A node that could not read a call answers without its id.
  const words = error && textOf(body, error);
  if (unread && words !== undefined && words !== 'null' && result === undefined && !answer.twice) {
    return errorOf(asked, item, words);
  }
  return { kind: 'mismatched', value: withoutSecrets(textOf(body, answer), asked.secrets) };
}

function errorOf({ secrets }: Asked, item: RpcItem, text: string): RpcOutcome {
  const value = withoutSecrets(text, secrets);
  if (text.length > LONGEST_READ_ERROR) return { kind: text.startsWith('{') ? 'error' : 'mismatched', value };
  const error: unknown = JSON.parse(text);
  if (isRefusedForNow(error, item.method)) return { kind: 'failed', reason: 'capacity', sent: false };
  return { kind: isRpcError(error) ? 'error' : 'mismatched', value };
}

/** As JSON-RPC 2.0 has it, and clients read it. */
function isRpcError(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  return (
    'code' in error &&
    typeof error.code === 'number' &&
    'message' in error &&
    typeof error.message === 'string'
  );
}

function ofWholeBatch(asked: Asked, answer: ScannedAnswer | undefined, body: Body): RpcOutcome {
  if (answer?.error === undefined || answer.result !== undefined) return BROKEN;
  const [item] = asked.items;
  const outcome = item && errorOf(asked, item, textOf(body, answer.error));
  // Whatever it says, it is an answer to none of the calls.
  return outcome?.kind === 'failed' ? outcome : BROKEN;
}

function textOf({ bytes, text }: Body, { start, end }: Span): string {
  return text === undefined ? bytes.toString('utf8', start, end) : text.slice(start, end);
}

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text);
}
