/** Base64 that has one spelling: who hashes or compares the text and who reads the bytes see the same thing. */

/** The standard alphabet; that of addresses ("-" and "_") is another encoding. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The bytes; undefined unless it is the one spelling of them, but that the padding may be left out as a whole. */
export function decodeBase64(text: string): Buffer | undefined {
  if (!BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const spelling = bytes.toString('base64');
  return text === spelling || text === spelling.replace(/=+$/, '') ? bytes : undefined;
}
