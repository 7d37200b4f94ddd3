/** Reads data URLs in fields that also take the address of a medium. */

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)?((?:;[\w-]+=[^;,]*)*)(;base64)?,/i;

export interface DataUrl {
  bytes: Buffer;
  /** Claimed type in lower case; never trusted. */
  type: string | undefined;
}

export function isDataUrl(url: string): boolean {
  return /^data:/i.test(url);
}

/** Undefined: no data URL. `malformed`: a data URL that is empty or not in base64. */
export function readDataUrl(url: string): DataUrl | 'malformed' | undefined {
  if (!isDataUrl(url)) return undefined;
  const head = dataUrlHead(url.slice(0, 512));
  const bytes = typeof head === 'object' ? fromBase64(url.slice(head.length)) : undefined;
  return bytes && typeof head === 'object' ? { bytes, type: head.type } : 'malformed';
}

/** Head of a data URL: its length and the claimed type. */
export function dataUrlHead(start: string): { length: number; type: string | undefined } | 'malformed' | undefined {
  if (!isDataUrl(start)) return undefined;
  const [head, type, , base64] = DATA_URL.exec(start) ?? [];
  return head !== undefined && base64 ? { length: head.length, type: type?.toLowerCase() } : 'malformed';
}

/**
 * Undefined: no base64, or empty. The decoder skips unknown characters, so a shorter result shows that there were some.
 * A regular expression over 35 MB would hold up the event loop for longer than decoding.
 */
export function fromBase64(text: string): Buffer | undefined {
  const end = text.length - (/[=\s]{0,8}$/.exec(text.slice(-8))?.[0].length ?? 0);
  const isAscii = Buffer.byteLength(text) === text.length;
  if (end === 0 || end % 4 === 1 || !isAscii) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === Math.floor((end * 3) / 4) ? bytes : undefined;
}
