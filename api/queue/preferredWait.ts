/** Reads how long a client waits for an answer: `Prefer: wait=N` (RFC 7240). */

export const MAX_WAIT_SECONDS = 60;
/** Longer headers are ignored. */
const MAX_HEADER_LENGTH = 1_000;

/** A name with an optional value, bare or in quotes; its parameters are ignored. */
const PREFERENCE = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~\w-]*))\s*)?(?:;|$)/;
/** An unclosed quote belongs to its element, which is then invalid. */
const ELEMENTS = /(?:[^,"]|"(?:[^"\\]|\\.)*"|")+/g;

/**
 * Seconds from 1 to 60, larger values shortened to that. Undefined without a valid preference: what cannot be parsed is
 * ignored. Of several the first counts.
 */
export function preferredWait(header: string | string[] | undefined): number | undefined {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  if (text.length > MAX_HEADER_LENGTH) return undefined;
  for (const [element] of text.matchAll(ELEMENTS)) {
    const [, name = '', quoted, bare] = PREFERENCE.exec(element) ?? [];
    if (name.toLowerCase() !== 'wait') continue;
    const value = quoted ?? bare ?? '';
    const seconds = /^\d+$/.test(value) ? Number(value) : 0;
    return seconds < 1 ? undefined : Math.min(seconds, MAX_WAIT_SECONDS);
  }
  return undefined;
}
