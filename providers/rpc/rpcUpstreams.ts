/**
 * What the JSON-RPC proxy's route needs of the chain nodes behind it. The route has admitted, priced and held; the
 * upstreams choose a node, fail over, hedge, cache and say for each item what happened, in the order of the request.
 */
import type { JsonBytes } from '../../domain/rpc/jsonBytes.ts';
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';

/** JSON where it stands in the bytes of an answer. */
export interface RpcResult {
  kind: 'result';
  json: JsonBytes;
  start: number;
  end: number;
  /** From our own memory of what can never change. */
  cached: boolean;
}

/** What became of one item. */
export type RpcOutcome =
  | RpcResult
  /** The node's JSON-RPC error object, as JSON text. */
  | { kind: 'error'; value: string }
  /** The node answered, but with an item that carries neither or both, or under another id: billed as an error. */
  | { kind: 'mismatched' }
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
  /** One outcome per call, in order. `signal` is the client's deadline. Never throws but for `signal`. */
  batch(network: string, calls: RpcCalls, signal: AbortSignal): Promise<RpcOutcome[]>;
  /** Of one call. */
  single(network: string, call: RpcCalls, signal: AbortSignal): Promise<RpcOutcome | RpcStream>;
  /**
   * Whether the network knows a transaction that may or may not have been handed in, by its hash; undefined when it cannot
   * be told now.
   */
  knowsTransaction(network: string, hash: string, signal: AbortSignal): Promise<boolean | undefined>;
  close(): Promise<void>;
}
