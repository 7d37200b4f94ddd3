/**
 * Our own count of tokens, for services that do not tell theirs. The vocabulary takes some 30 MB and a tenth of a second,
 * so it is loaded when it is first needed: most processes never do.
 */
import { createTurnLimit } from '../../infra/turnLimit.ts';

/** Letters without a space cost as the square of their number: 16,000 took two seconds of the loop (bench `stalls`). */
const PIECE_LENGTH = 1_024;
const UNBROKEN_LENGTH = 256;

type Encoding = typeof import('gpt-tokenizer/encoding/o200k_base');
let loading: Promise<Encoding> | undefined;

/** `most`: beyond it nobody needs to know how many there are, and the count ends. */
export async function countTokens(text: string, most = Number.POSITIVE_INFINITY): Promise<number> {
  if (text === '') return 0;
  loading ??= import('gpt-tokenizer/encoding/o200k_base');
  const { countTokens: count } = await loading;
  let tokens = 0;
  const endTurn = createTurnLimit();
  for (let at = 0; at < text.length && tokens <= most; ) {
    const end = endOfPiece(text, at);
    // What looks like a control token in a text is text.
    tokens += count(text.slice(at, end), { allowedSpecial: new Set(), disallowedSpecial: new Set() });
    at = end;
    const next = endTurn();
    if (next) await next;
  }
  return tokens;
}

/** Before a space, which begins a token: so cut, a text has as many of them as in one piece. */
function endOfPiece(text: string, at: number): number {
  const space = text.slice(at + 1, at + PIECE_LENGTH).lastIndexOf(' ');
  if (space >= 0) return at + 1 + space;
  const end = at + UNBROKEN_LENGTH;
  // Not within a character of two halves.
  return /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end + 1 : end;
}
