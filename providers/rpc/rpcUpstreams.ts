/**
 * Interface between the JSON-RPC proxy's route and the chain nodes. The route admits, prices and holds. The upstreams
 * choose a node, fail over, hedge and cache. They report an outcome for each item, in the order of the request.
 */
import { type JsonBytes, jsonBytes } from '../../domain/json/jsonBytes.ts';
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';

/** A larger result is streamed, or is too large. */
export const MAX_WHOLE_BYTES = 25 * 1024 * 1024;

/** JSON text within the bytes of a reply. */
export interface RpcResult {
  kind: 'result';
  json: JsonBytes;
  start: number;
  end: number;
  /** Read from the cache of immutable answers. */
  cached: boolean;
}

/** Outcome of one item. */
export type RpcOutcome =
  | RpcResult
  /** The node's JSON-RPC error object, as JSON text. */
  | { kind: 'error'; value: string }
  /** The node's item has neither or both members, or another id: billed as an error. */
  | { kind: 'mismatched' }
  /** HTTP 4xx of the node (not 402 or 429): billed as an error. */
  | { kind: 'rejected'; status: number }
  /** 402, 429, 5xx, timeout, not JSON, too large: not billed. `sent`: the request may have arrived. */
  | { kind: 'failed'; reason: 'capacity' | 'broken' | 'timeout' | 'too_large'; sent: boolean };

/** A large result that is still arriving; only for a request that is a single object. */
export interface RpcStream {
  kind: 'stream';
  /** JSON text of the result in pieces. Throws if it ends early: the answer is truncated and was billed. */
  value: AsyncIterable<Buffer>;
}

export interface RpcUpstreams {
  /** Slugs with at least one endpoint. */
  readonly networks: ReadonlySet<string>;
  /** Returns one outcome per call, in order. `signal` is the client's deadline. Throws only its reason. */
  batch(network: string, calls: RpcCalls, signal: AbortSignal): Promise<RpcOutcome[]>;
  /** Sends one call. */
  single(network: string, call: RpcCalls, signal: AbortSignal): Promise<RpcOutcome | RpcStream>;
  /** Whether the network knows a transaction, by its hash, that may have been submitted. Undefined: unknown now. */
  knowsTransaction(network: string, hash: string, signal: AbortSignal): Promise<boolean | undefined>;
  close(): Promise<void>;
}

/** Cache shared by all processes; any failure counts as a miss. */
export interface RpcCache {
  /** Returns the values in the order of the keys. */
  get(keys: readonly string[]): Promise<(string | undefined)[]>;
  /** `ttl` in seconds. Too large values are not stored. */
  set(key: string, value: string, ttl: number): Promise<void>;
}

/** `stopped`: the result was no longer needed. `answered` includes the node's own errors. */
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
  /** One completed HTTP request to a node. `upstream`: its index and host, never its path. */
  | { kind: 'request'; network: string; upstream: string; outcome: NodeOutcome; durationMs: number }
  /** `circuit`: 0 closed, 1 half open, 2 open, 3 rate limited. `behind`: blocks behind the best, if known. */
  | { kind: 'node'; network: string; upstream: string; circuit: 0 | 1 | 2 | 3; behind: number | undefined }
  | { kind: 'hedge' | 'failover'; network: string }
  | { kind: 'cache'; network: string; outcome: 'hit' | 'miss' | 'stored'; count: number };

export interface RpcTools {
  cache?: RpcCache;
  observe?: (event: RpcEvent) => void;
  /** Monotonic milliseconds. */
  now?: () => number;
  random?: () => number;
  /** Time limit for all items; default 30 s. */
  deadlineMs?: number;
  /** Interval between polls of the heights of a network in use; default 5 s. */
  pollMs?: number;
}

/** `text`: JSON. */
export function resultOf(text: string, cached: boolean): RpcResult {
  const json = jsonBytes(text);
  return { kind: 'result', json, start: 0, end: json.length, cached };
}

/** Returns JSON text. */
export function textOf({ json, start, end }: RpcResult): string {
  return json.text(start, end);
}
