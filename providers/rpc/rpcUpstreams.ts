/**
 * What the JSON-RPC proxy's route needs of the chain nodes behind it. The route has admitted, priced and held; the
 * upstreams choose a node, fail over, hedge, cache and say for each item what happened, in the order of the request.
 */
import { type JsonBytes, jsonBytes } from '../../domain/json/jsonBytes.ts';
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';

/** A larger answer is passed on as it comes, or is too large. */
export const MAX_WHOLE_BYTES = 25 * 1024 * 1024;

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

/** Memory that all processes share; anything that fails is as if nothing were kept. */
export interface RpcCache {
  /** In the order of the keys. */
  get(keys: readonly string[]): Promise<(string | undefined)[]>;
  /** `ttl` in seconds. What is too large is not kept. */
  set(key: string, value: string, ttl: number): Promise<void>;
}

/** `stopped`: nobody waited for the end. `answered`: errors of the node's own included. */
export type NodeOutcome =
  | 'answered'
  | 'mismatched'
  | 'rejected'
  | 'capacity'
  | 'broken'
  | 'timeout'
  | 'too_large'
  | 'stopped';

export type RpcEvent =
  /** One HTTP request to a node, when it is over. `upstream`: its place in the list and its host, never its path. */
  | { kind: 'request'; network: string; upstream: string; outcome: NodeOutcome; durationMs: number }
  /** `circuit`: 0 closed, 1 half open, 2 open, 3 limits us. `behind`: blocks behind the best, where known. */
  | { kind: 'node'; network: string; upstream: string; circuit: 0 | 1 | 2 | 3; behind: number | undefined }
  | { kind: 'hedge' | 'failover'; network: string }
  | { kind: 'cache'; network: string; outcome: 'hit' | 'miss' | 'stored'; count: number };

export interface RpcTools {
  cache?: RpcCache;
  observe?: (event: RpcEvent) => void;
  /** Milliseconds that only grow. */
  now?: () => number;
  random?: () => number;
  /** Until an answer of all items; 30 s. */
  deadlineMs?: number;
  /** Between two looks at the heights of a network that is in use; 5 s. */
  pollMs?: number;
}

/** `text`: JSON. */
export function resultOf(text: string, cached: boolean): RpcResult {
  const json = jsonBytes(text);
  return { kind: 'result', json, start: 0, end: json.length, cached };
}

/** JSON. */
export function textOf({ json, start, end }: RpcResult): string {
  return json.text(start, end);
}
