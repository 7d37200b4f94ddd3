/** JSON-RPC errors by which a node says that it has no capacity for the call now, and did not work on it. */
import { isHeavy, runsCode } from './methodCost.ts';
import { isWriteMethod } from './methods.ts';

/** -32029, -32097 and 429: too many requests at several hosts of nodes, which use them for nothing else. */
const CODES = new Set([-32029, -32097, 429]);
/**
 * EIP-1474: limit exceeded. On Solana a node that is behind (Agave's custom_error.rs). Nodes also say it of a call that asks
 * for too much: too many logs or blocks (Infura, BSC; Besu's EXCEEDS_RPC_MAX_BLOCK_RANGE), too large a batch (Besu).
 */
const LIMIT_EXCEEDED = -32005;
const TOO_LARGE_A_BATCH = /batch/i;

/**
 * What generic codes say in words. -32016: over the rate limit at some hosts of EVM nodes, a call that took too long at
 * Nethermind (ErrorCodes.Timeout), and on Solana what a client provokes (`minContextSlot`, Agave's custom_error.rs).
 */
const GENERIC = new Set([-32000, -32001, -32016, -32603, -32090]);
const WORDS =
  /rate.?limit|too many requests|request (?:limit|rate)|over(?:loaded| capacity)|capacity (?:exceeded|limit)|compute units per second|(?:daily|monthly) (?:request|capacity|quota)|quota exceeded|throughput limit|temporarily unavailable/i;
/** A node that gave up had begun, and what was handed in may have gone on from it. */
const GAVE_UP = /tim(?:e|ed)[ -]?out|deadline|cancel/i;

/** `error`: the parsed error object. */
export function isRefusedForNow(error: unknown, method: string): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error)) return false;
  const { code } = error;
  if (typeof code !== 'number') return false;
  const words = 'message' in error && typeof error.message === 'string' ? error.message : '';
  if (isWriteMethod(method) && GAVE_UP.test(words)) return false;
  if (CODES.has(code)) return true;
  if (code === LIMIT_EXCEEDED) {
    if (isOfSolana(method)) return true;
    return isHeavy(method) ? WORDS.test(words) : !TOO_LARGE_A_BATCH.test(words);
  }
  // What a contract or a program says reaches the words of the error: nobody may make his calls free of charge by them.
  return GENERIC.has(code) && !runsCode(method) && WORDS.test(words);
}

/** Only its methods have no namespace. */
function isOfSolana(method: string): boolean {
  return !method.includes('_');
}
