/** What the upstreams of the proxy work with, and what they tell of themselves. */

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
