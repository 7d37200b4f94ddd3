/** Foreign words, before they reach a client or a log. */

const MAX_WORDS = 300;
/** What is looked at, however much arrived. */
const MAX_READ = 2_000;

/** On one line and of bounded length. */
export function clean(text: string): string {
  return text
    .slice(0, MAX_READ)
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_WORDS);
}

/**
 * How the service's models say that they refuse a content. There is no field for it, so the words decide: E005 of its hosted
 * models ("flagged as sensitive"), and what their makers' own filters answer.
 */
const CONTENT_POLICY =
  /\bE005\b|flagged (as|by|for)|sensitive (content|information|words)|inappropriate content|prohibited content|content[ _-](policy|filter|moderation)|moderation[ _](blocked|rejected|failed)|\bnsfw\b|safety (filter|system|checker|polic|guideline)|responsible ai|risk control/i;

export function isContentPolicy(words: string): boolean {
  return CONTENT_POLICY.test(words.slice(0, MAX_READ));
}
