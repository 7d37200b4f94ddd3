/** Asks one node over HTTP for each request, and says what became of its items: no more than the route needs. */
import type { RpcItem, RpcOutcome, RpcUpstreams } from '../../../providers/rpc/rpcUpstreams.ts';

export interface PlainUpstreams extends RpcUpstreams {
  /** What networks say of a transaction; undefined: nothing. */
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
  async function batch(
    network: string,
    items: readonly RpcItem[],
    signal: AbortSignal,
  ): Promise<RpcOutcome[]> {
    const body = items.map(
      ({ method, params }, id) =>
        `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${params ? `,"params":${params}` : ''}}`,
    );
    const response = await fetch(`${url}/${network}`, {
      method: 'POST',
      body: `[${body.join(',')}]`,
      signal,
    }).catch((error) => {
      if (signal.aborted) throw error;
      return undefined;
    });
    if (!response) return items.map(() => ({ kind: 'failed', reason: 'broken', sent: true }));
    const { status } = response;
    const answers = (await response.json()) as Answer[];
    return items.map((_item, index) => outcomeOf(status, answers[index], index));
  }
  const upstreams: PlainUpstreams = {
    ...{ networks: new Set(networks), transactions: new Map(), streams: new Map(), batch },
    async single(network, item, signal) {
      const stream = upstreams.streams.get(item.method);
      if (stream) return { kind: 'stream', value: stream() };
      const [outcome] = await batch(network, [item], signal);
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
  if (answer.id !== id || hasResult === hasError)
    return { kind: 'mismatched', value: JSON.stringify(answer) };
  return hasError
    ? { kind: 'error', value: JSON.stringify(answer.error) }
    : { kind: 'result', value: JSON.stringify(answer.result), cached: false };
}
