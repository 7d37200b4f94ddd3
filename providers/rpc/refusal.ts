/** A node that refuses a call by its HTTP status often says why all the same, as JSON-RPC says it: a revert, say. */
import { plainPieces } from './nodeDoor.ts';
import { type Asked, readOutcomes } from './questions.ts';
import type { RpcOutcome } from './rpcUpstreams.ts';

/** Longer words are a page of a gateway. */
const MOST_BYTES = 64 * 1024;
/** About our key, or of a proxy before the node: nothing about the call. */
const NOT_OF_THE_CALL: ReadonlySet<number> = new Set([401, 403, 407]);

interface RefusedReply {
  headers: Record<string, string | string[] | undefined>;
  body: AsyncIterable<Buffer>;
}

/** One outcome per call: what the node says of it, or `refused`. Never throws. */
export async function readRefusal(
  asked: Asked,
  reply: RefusedReply,
  refused: RpcOutcome,
): Promise<RpcOutcome[]> {
  const silent = refused.kind !== 'rejected' || NOT_OF_THE_CALL.has(refused.status);
  const told = silent ? undefined : await toldBy(asked, reply).catch(() => undefined);
  return told ?? new Array(asked.calls.length).fill(refused);
}

/** Undefined: no JSON-RPC error for each call. */
async function toldBy(asked: Asked, { headers, body }: RefusedReply): Promise<RpcOutcome[] | undefined> {
  const encoding = headers['content-encoding'];
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  for await (const piece of plainPieces(body, encoding?.toString(), MOST_BYTES)) {
    sizeBytes += piece.length;
    if (sizeBytes > MOST_BYTES) return undefined;
    pieces.push(piece);
  }
  const whole = Buffer.concat(pieces);
  if (!isJsonRpc(JSON.parse(whole.toString('utf8')))) return undefined;
  const outcomes = readOutcomes(asked, whole);
  return outcomes.every(isWord) ? outcomes : undefined;
}

/** Services that know nothing of JSON-RPC have objects named `error`, too. */
function isJsonRpc(answer: unknown): boolean {
  if (Array.isArray(answer)) return answer.every((item) => !Array.isArray(item) && isJsonRpc(item));
  return typeof answer === 'object' && answer !== null && 'jsonrpc' in answer && answer.jsonrpc === '2.0';
}

/** An error of the call, or that there is no room for it now. */
function isWord(outcome: RpcOutcome): boolean {
  return outcome.kind === 'error' || (outcome.kind === 'failed' && outcome.reason === 'capacity');
}
