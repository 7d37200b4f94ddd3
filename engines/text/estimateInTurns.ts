/** Estimates tokens of long texts in short turns: 35 MB at once take 0.1 s of the event loop (bench `stalls`). */
import { estimateTokens, TokenEstimate } from '../../domain/text/promptSize.ts';
import { createTurnLimit } from '../../infra/turnLimit.ts';

/** Takes less than a millisecond. */
const STEP_LETTERS = 128 * 1024;

/** Sum of `estimateTokens` over the texts. Synchronous below one step of work. */
export function estimateTexts(texts: readonly string[]): number | Promise<number> {
  let letters = 0;
  for (const text of texts) letters += text.length;
  if (letters >= STEP_LETTERS) return estimateInTurns(texts);
  let tokens = 0;
  for (const text of texts) tokens += estimateTokens(text);
  return tokens;
}

export async function estimateInTurns(texts: Iterable<string>): Promise<number> {
  const endTurn = createTurnLimit();
  let tokens = 0;
  let letters = 0;
  for (const text of texts) {
    const estimate = new TokenEstimate();
    for (let at = 0; at < text.length; ) {
      const end = Math.min(text.length, at + STEP_LETTERS - letters);
      estimate.add(text, at, end);
      letters += end - at;
      at = end;
      if (letters < STEP_LETTERS) continue;
      letters = 0;
      const next = endTurn();
      if (next) await next;
    }
    tokens += estimate.tokens;
  }
  return tokens;
}
