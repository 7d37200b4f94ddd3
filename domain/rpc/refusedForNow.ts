/** JSON-RPC errors of a node that has no capacity for the call now and did not work on it. */
import { isHeavy, runsCode } from './methodCost.ts';
import { isWriteMethod } from './methods.ts';

/** -32029, -32097 and 429: too many requests, at several node services, which have no other use for them. */
const CODES = new Set([-32029, -32097, 429]);
/**
 * EIP-1474: limit exceeded; on Solana: the node is behind (Agave's custom_error.rs). Also used for calls that request
 * too much: too many logs or blocks (Infura, BSC; Besu's EXCEEDS_RPC_MAX_BLOCK_RANGE), too large a batch (Besu).
 */
const LIMIT_EXCEEDED = -32005;
const TOO_LARGE_A_BATCH = /batch/i;

/**
 * Generic codes, where the message decides. -32016: over the rate limit at some EVM node services, a timeout at
 * Nethermind (ErrorCodes.Timeout), on Solana caused by the client (`minContextSlot`, Agave's custom_error.rs).
 */
const GENERIC = new Set([-32000, -32001, -32016, -32603, -32090]);
const WORDS =
  /rate.?limit|too many requests|request (?:limit|rate)|over(?:loaded| capacity)|capacity (?:exceeded|limit)|compute units per second|(?:daily|monthly) (?:request|capacity|quota)|quota exceeded|throughput limit|temporarily unavailable/i;
/** A node that gave up had begun, and may have passed on a submitted transaction. */
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
  // Contracts and programs can write into the error message: it must not make their calls free of charge.
  return GENERIC.has(code) && !runsCode(method) && WORDS.test(words);
}

/** Only methods of Solana have no namespace. */
function isOfSolana(method: string): boolean {
  return !method.includes('_');
}
