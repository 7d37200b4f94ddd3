/**
 * Our own count of tokens, for services that do not tell theirs. The vocabulary takes some 30 MB and a tenth of a second,
 * so it is loaded when it is first needed: most processes never do.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The event loop is held up by no more than a few milliseconds at a time. */
const PIECE_LENGTH = 16_384;

type Encoding = typeof import('gpt-tokenizer/encoding/o200k_base');
let loading: Promise<Encoding> | undefined;

export async function countTokens(text: string): Promise<number> {
  if (text === '') return 0;
  loading ??= import('gpt-tokenizer/encoding/o200k_base');
  const { countTokens: count } = await loading;
  let tokens = 0;
  for (let at = 0; at < text.length; at += PIECE_LENGTH) {
    if (at > 0) await nextTurn();
    // What looks like a control token in a text is text.
    tokens += count(text.slice(at, at + PIECE_LENGTH), {
      allowedSpecial: new Set(),
      disallowedSpecial: new Set(),
    });
  }
  return tokens;
}
