/** How long a client would wait for an answer: `Prefer: wait=N` (RFC 7240). */

export const MAX_WAIT_SECONDS = 60;
/** Who wishes for more than this wishes for nothing. */
const MAX_HEADER_LENGTH = 1_000;

/** A name with or without a value, the value bare or in quotes; parameters after it mean nothing here. */
const PREFERENCE =
  /^\s*([!#$%&'*+.^_`|~\w-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~\w-]*))\s*)?(?:;|$)/;
/** A quote that is never closed belongs to its element, which then makes no sense. */
const ELEMENTS = /(?:[^,"]|"(?:[^"\\]|\\.)*"|")+/g;

/**
 * Seconds from 1 to 60, longer wishes shortened to that; undefined where there is no such wish or it makes no sense: what
 * cannot be read is ignored. Of several the first counts.
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
