/**
 * Counts tokens for services that do not report them. The vocabulary takes about 30 MB and 0.1 s, so it is loaded on
 * first use: most processes never need it.
 */
import { createTurnLimit } from '../../infra/turnLimit.ts';

/** Time is quadratic in letters without a space: 16,000 took 2 s of the event loop (bench `stalls`). */
const PIECE_LENGTH = 1_024;
const UNBROKEN_LENGTH = 256;

type Encoding = typeof import('gpt-tokenizer/encoding/o200k_base');
let loading: Promise<Encoding> | undefined;

/** Stops counting above `most`. */
export async function countTokens(text: string, most = Number.POSITIVE_INFINITY): Promise<number> {
  if (text === '') return 0;
  loading ??= import('gpt-tokenizer/encoding/o200k_base');
  const { countTokens: count } = await loading;
  let tokens = 0;
  const endTurn = createTurnLimit();
  for (let at = 0; at < text.length && tokens <= most; ) {
    const end = endOfPiece(text, at);
    // Treats text that looks like a control token as text.
    tokens += count(text.slice(at, end), { allowedSpecial: new Set(), disallowedSpecial: new Set() });
    at = end;
    const next = endTurn();
    if (next) await next;
  }
  return tokens;
}

/** Cuts before a space, which begins a token, so that the count equals that of the uncut text. */
function endOfPiece(text: string, at: number): number {
  const space = text.slice(at + 1, at + PIECE_LENGTH).lastIndexOf(' ');
  if (space >= 0) return at + 1 + space;
  const end = at + UNBROKEN_LENGTH;
  // Does not split a surrogate pair.
  return /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end + 1 : end;
}
