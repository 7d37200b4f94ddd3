/** What is sent to a node, under ids of our own, and what its answer says of each call. */
import { isRefusedForNow } from '../../domain/rpc/refusedForNow.ts';
import type { AnswerScanner, ScannedAnswer, Span } from './answerScanner.ts';
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
  const written = items.map(
    ({ method, params = '[]' }, index) =>
      `{"jsonrpc":"2.0","id":${firstId + index},"method":${JSON.stringify(method)},"params":${params}}`,
  );
  return written.length === 1 ? (written[0] as string) : `[${written.join(',')}]`;
}

export interface Asked {
  items: readonly RpcItem[];
  firstId: number;
  /** What a node may repeat in its words, and nobody else may read. */
  secrets: readonly string[];
}

/** Longer errors are no words about capacity. */
const LONGEST_READ_ERROR = 8_192;
export const BROKEN: RpcOutcome = { kind: 'failed', reason: 'broken', sent: true };

/** One outcome per item. The scanner has read all of the body. */
export function readOutcomes(asked: Asked, scanned: AnswerScanner, body: Buffer): RpcOutcome[] {
  const { items } = asked;
  const [only] = scanned.answers;
  // An object for a batch speaks of the batch; a batch for an object is none of ours.
  if (items.length > 1 && !scanned.isBatch) return items.map(() => ofWholeBatch(asked, only, body));
  if (items.length === 1 && scanned.isBatch) return [BROKEN];
  const found = new Map<number, ScannedAnswer>();
  for (const answer of scanned.answers) {
    const position = positionOf(asked, answer, body);
    if (position !== undefined && !found.has(position)) found.set(position, answer);
  }
  return items.map((item, index) => {
    const own = found.get(index);
    if (own !== undefined) return outcomeOf(asked, { item, answer: own, body });
    const inPlace = scanned.answers[index];
    if (inPlace?.isObject !== true || positionOf(asked, inPlace, body) !== undefined) return BROKEN;
    return strangerOf(asked, { item, answer: inPlace, body });
  });
}

/** By its id; undefined for an id that is none of those that were sent. */
function positionOf({ items, firstId }: Asked, { id }: ScannedAnswer, body: Buffer): number | undefined {
  if (id === undefined || id.end - id.start > 10) return undefined;
  const text = textOf(body, id);
  const position = /^\d+$/.test(text) ? Number(text) - firstId : -1;
  return position >= 0 && position < items.length ? position : undefined;
}

interface Found {
  item: RpcItem;
  answer: ScannedAnswer;
  body: Buffer;
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
  if (text.length <= LONGEST_READ_ERROR && isRefusedForNow(JSON.parse(text), item.method)) {
    return { kind: 'failed', reason: 'capacity', sent: false };
  }
  return { kind: 'error', value: withoutSecrets(text, secrets) };
}

function ofWholeBatch(asked: Asked, answer: ScannedAnswer | undefined, body: Buffer): RpcOutcome {
  if (answer?.error === undefined || answer.result !== undefined) return BROKEN;
  const [item] = asked.items;
  const outcome = item && errorOf(asked, item, textOf(body, answer.error));
  // Whatever it says, it is an answer to none of the calls.
  return outcome?.kind === 'failed' ? outcome : BROKEN;
}

function textOf(body: Buffer, { start, end }: Span): string {
  return body.toString('utf8', start, end);
}

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text);
}
