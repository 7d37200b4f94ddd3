/** JSON-RPC errors by which a node says that it has no capacity for the call now, and did not work on it. */

/**
 * Used for nothing else by the services that use them: -32005 limit exceeded (EIP-1474), or a Solana node that is behind;
 * -32016 over the rate limit; -32029, -32097 and 429 too many requests at several hosts of nodes.
 */
const CODES = new Set([-32005, -32016, -32029, -32097, 429]);

/** What generic codes say in words. */
const GENERIC = new Set([-32000, -32001, -32603, -32090]);
const WORDS =
  /rate.?limit|too many requests|request limit|over(?:loaded| capacity)|capacity (?:exceeded|limit)|compute units per second|(?:daily|monthly) (?:request|capacity|quota)|quota exceeded|throughput limit|temporarily unavailable/i;
/** What a contract or a program says reaches the words of the error: nobody may make his calls free of charge by them. */
const RUNS_CODE =
  /^(?:eth_call|eth_estimate|eth_simulate|eth_send|eth_createAccessList|debug_|trace_|arbtrace_|simulate|send|starknet_(?:call|estimate|simulate|add)|zks_|linea_|pimlico_)/;

/** `error`: the parsed error object. */
export function isRefusedForNow(error: unknown, method: string): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error)) return false;
  const { code } = error;
  if (typeof code !== 'number') return false;
  if (CODES.has(code)) return true;
  if (!GENERIC.has(code) || RUNS_CODE.test(method)) return false;
  return 'message' in error && typeof error.message === 'string' && WORDS.test(error.message);
}
