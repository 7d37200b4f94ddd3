/** Sends each request to one node over HTTP and returns the outcomes of its items, without routing. */
import type { RpcCalls } from '../../../domain/rpc/rpcCalls.ts';
import { type RpcOutcome, type RpcUpstreams, resultOf } from '../../../providers/rpc/rpcUpstreams.ts';

export interface PlainUpstreams extends RpcUpstreams {
  /** Answers of the networks about a transaction. No entry: no answer. */
  transactions: Map<string, boolean>;
  /** A single call of this method answers in pieces. */
  streams: Map<string, () => AsyncIterable<Buffer>>;
}

interface Answer {
  id?: unknown;
  result?: unknown;
  error?: unknown;
}

export function plainUpstreams(url: string, networks: readonly string[]): PlainUpstreams {
  async function batch(network: string, calls: RpcCalls, signal: AbortSignal): Promise<RpcOutcome[]> {
    const ids = Array.from({ length: calls.length }, (_, id) => id);
    const body = ids.map((id) => {
      const params = calls.params(id);
      const method = JSON.stringify(calls.method(id).name);
      return `{"jsonrpc":"2.0","id":${id},"method":${method}${params ? `,"params":${params}` : ''}}`;
    });
    const response = await fetch(`${url}/${network}`, {
      method: 'POST',
      body: `[${body.join(',')}]`,
      signal,
    }).catch((error) => {
      if (signal.aborted) throw error;
      return undefined;
    });
    if (!response) return ids.map(() => ({ kind: 'failed', reason: 'broken', sent: true }));
    const { status } = response;
    const answers = (await response.json()) as Answer[];
    return ids.map((id) => outcomeOf(status, answers[id], id));
  }
  const upstreams: PlainUpstreams = {
    ...{ networks: new Set(networks), transactions: new Map(), streams: new Map(), batch },
    async single(network, call, signal) {
      const stream = upstreams.streams.get(call.method(0).name);
      if (stream) return { kind: 'stream', value: stream() };
      const [outcome] = await batch(network, call, signal);
      return outcome as RpcOutcome;
    },
    knowsTransaction: async (_network, hash) => upstreams.transactions.get(hash),
    close: async () => undefined,
  };
  return upstreams;
}

function outcomeOf(status: number, answer: Answer | undefined, id: number): RpcOutcome {
  if (status === 402 || status === 429) return { kind: 'failed', reason: 'capacity', sent: false };
  if (status >= 500) return { kind: 'failed', reason: 'broken', sent: true };
  if (status >= 400) return { kind: 'rejected', status };
  if (!answer) return { kind: 'failed', reason: 'broken', sent: true };
  const hasResult = answer.result !== undefined;
  const hasError = answer.error !== undefined;
  if (answer.id !== id || hasResult === hasError) return { kind: 'mismatched' };
  return hasError
    ? { kind: 'error', value: JSON.stringify(answer.error) }
    : resultOf(JSON.stringify(answer.result), false);
}
