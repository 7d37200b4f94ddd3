/** Canonical base64: a comparison or hash of the text is one of the bytes. */

/** The standard alphabet; that of addresses ("-" and "_") is another encoding. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The bytes; undefined unless the text is canonical. Padding may be absent as a whole. */
export function decodeBase64(text: string): Buffer | undefined {
  if (!BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const spelling = bytes.toString('base64');
  return text === spelling || text === spelling.replace(/=+$/, '') ? bytes : undefined;
}
