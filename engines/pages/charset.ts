/** Decodes a page by byte order mark, HTTP header, then the page's own declaration (order of WHATWG). */
import { decodeWestern, markOf } from '../documents/decodeText.ts';

export interface PageText {
  text: string;
  charset: string;
}

const PRESCAN_BYTES = 4_096;

export function decodePage(body: Uint8Array, contentType: string | undefined): PageText {
  const charset = markOf(body) ?? ofHeader(contentType) ?? declared(body) ?? guessed(body);
  if (charset === 'windows-1252') {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    return { text: decodeWestern(bytes), charset };
  }
  // The byte order mark is not part of the text. TextDecoder removes it.
  return { text: new TextDecoder(charset).decode(body), charset };
}

function ofHeader(contentType: string | undefined): string | undefined {
  return known(/;\s*charset\s*=\s*["']?([^\s;"']+)/i.exec(contentType ?? '')?.[1]);
}

/** Charset from `<meta charset>`, `<meta http-equiv>` or an XML declaration, outside comments. */
function declared(body: Uint8Array): string | undefined {
  const head = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, PRESCAN_BYTES))
    .toString('latin1')
    .replace(/<!--[\s\S]*?(?:-->|$)/g, '');
  const xml = known(/^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([^"'>\s]+)/i.exec(head)?.[1]);
  if (xml !== undefined) return asDeclared(xml);
  for (const [tag] of head.matchAll(/<meta[\s/][^>]{0,1000}/gi)) {
    const charset = known(/[\s/"';]charset\s*=\s*(?:["']\s*)?([^\s"'/>;]+)/i.exec(tag)?.[1]);
    if (charset !== undefined) return asDeclared(charset);
  }
  return undefined;
}

/** A declaration that is readable as ASCII is not in UTF-16, whatever it says. */
function asDeclared(charset: string): string {
  return charset.startsWith('utf-16') ? 'utf-8' : charset;
}

/** Encoding of a label. Undefined for unknown labels. */
function known(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  if (label.toLowerCase() === 'x-user-defined') return 'windows-1252';
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}

function guessed(body: Uint8Array): string {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(body);
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
}
