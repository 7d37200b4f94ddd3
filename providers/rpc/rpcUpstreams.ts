/**
 * What the JSON-RPC proxy's route needs of the chain nodes behind it. The route has admitted, priced and held; the
 * upstreams choose a node, fail over, hedge, cache and say for each item what happened, in the order of the request.
 */

/** One admitted call. Its texts are JSON of our own writing, from the parsed request: never bytes of the client's. */
export interface RpcItem {
  method: string;
  /** JSON text of the params; undefined when none were sent. Numbers keep every digit. */
  params: string | undefined;
  /** Hands in something that must not happen twice (`eth_sendRawTransaction`, `sendTransaction` …). */
  isWrite: boolean;
}

/** What became of one item. */
export type RpcOutcome =
  /** `value`: JSON text. `cached`: from our own memory of what can never change. */
  | { kind: 'result'; value: string; cached: boolean }
  /** The node's JSON-RPC error object, as JSON text. */
  | { kind: 'error'; value: string }
  /** The node answered, but with an item that carries neither or both, or under another id: billed as an error. */
  | { kind: 'mismatched'; value: string }
  /** HTTP 4xx of the node (not 402 nor 429): billed as an error. */
  | { kind: 'rejected'; status: number }
  /** 402, 429, 5xx, no answer in time, not JSON, too large: nothing is billed. `sent`: it may have arrived. */
  | { kind: 'failed'; reason: 'capacity' | 'broken' | 'timeout' | 'too_large'; sent: boolean };

/** One call's large result while it still arrives; only ever for a request that is a single object. */
export interface RpcStream {
  kind: 'stream';
  /** The JSON text of the result in pieces. Ends early by throwing: then the answer is cut off, and was billed. */
  value: AsyncIterable<Buffer>;
}

export interface RpcUpstreams {
  /** Slugs that have at least one endpoint. */
  readonly networks: ReadonlySet<string>;
  /** One outcome per item, in order. `signal` is the client's deadline. Never throws but for `signal`. */
  batch(network: string, items: readonly RpcItem[], signal: AbortSignal): Promise<RpcOutcome[]>;
  single(network: string, item: RpcItem, signal: AbortSignal): Promise<RpcOutcome | RpcStream>;
  /**
   * Whether the network knows a transaction that may or may not have been handed in, by its hash; undefined when it cannot
   * be told now.
   */
  knowsTransaction(network: string, hash: string, signal: AbortSignal): Promise<boolean | undefined>;
  close(): Promise<void>;
}
