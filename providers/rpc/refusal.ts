/** Reads refusals by HTTP status. The body often has the reason as JSON-RPC, for example a revert. */
import type { ServiceReply } from '../../infra/http/serviceHttp.ts';
import { retryAfterMs } from '../shared/failedReply.ts';
import { plainPieces } from './nodeClient.ts';
import { type NodeQuestions, readOutcomes } from './questions.ts';
import type { RpcOutcome } from './rpcUpstreams.ts';
import type { NodeReply } from './verdict.ts';

/** A longer body is a gateway's page. */
const MAX_BYTES = 64 * 1024;
/** Statuses about the key or a proxy, not about the call. */
const NOT_OF_THE_CALL: ReadonlySet<number> = new Set([401, 403, 407]);

/** Redirects count as refusals, because they are never followed. */
export function isRefusal(status: number): boolean {
  return status < 200 || status > 299;
}

/** Returns one outcome per call: the node's error, or the refusal of all. Never throws. */
export async function readRefusal(asked: NodeQuestions, reply: ServiceReply): Promise<NodeReply> {
  const { status, headers } = reply;
  const refused = refusalOf(status);
  const silent = refused.kind !== 'rejected' || NOT_OF_THE_CALL.has(status);
  const readable = silent ? undefined : await outcomesIn(asked, reply).catch(() => undefined);
  const outcomes = readable ?? new Array<RpcOutcome>(asked.calls.length).fill(refused);
  return { status, outcomes, retryAfterMs: retryAfterMs(headers['retry-after'], Date.now()) };
}

function refusalOf(status: number): RpcOutcome {
  // Refused before any processing.
  if (status === 402 || status === 429) return { kind: 'failed', reason: 'capacity', sent: false };
  if (status >= 400 && status <= 499) return { kind: 'rejected', status };
  return { kind: 'failed', reason: status === 503 ? 'capacity' : 'broken', sent: true };
}

/** Undefined: not every call has a JSON-RPC error. */
async function outcomesIn(asked: NodeQuestions, { headers, body }: ServiceReply): Promise<RpcOutcome[] | undefined> {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  for await (const piece of plainPieces(body, headers['content-encoding'], MAX_BYTES)) {
    sizeBytes += piece.length;
    if (sizeBytes > MAX_BYTES) return undefined;
    pieces.push(piece);
  }
  const whole = Buffer.concat(pieces);
  if (!isJsonRpc(JSON.parse(whole.toString('utf8')))) return undefined;
  const outcomes = readOutcomes(asked, whole);
  return outcomes.every(isWord) ? outcomes : undefined;
}

/** Services without JSON-RPC also have objects named `error`. */
function isJsonRpc(answer: unknown): boolean {
  if (Array.isArray(answer)) return answer.every((item) => !Array.isArray(item) && isJsonRpc(item));
  return typeof answer === 'object' && answer !== null && 'jsonrpc' in answer && answer.jsonrpc === '2.0';
}

/** Whether the outcome is an error of the call, or a lack of capacity. */
function isWord(outcome: RpcOutcome): boolean {
  return outcome.kind === 'error' || (outcome.kind === 'failed' && outcome.reason === 'capacity');
}
