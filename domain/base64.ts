/** Canonical base64: equal texts are equal bytes, so the text can be compared and hashed. */

/** The standard alphabet; the URL-safe one ("-" and "_") is another encoding. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Undefined unless the text is canonical. Padding may be absent completely. */
export function decodeBase64(text: string): Buffer | undefined {
  if (!BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const spelling = bytes.toString('base64');
  return text === spelling || text === spelling.replace(/=+$/, '') ? bytes : undefined;
}
