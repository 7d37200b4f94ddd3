/** Decodes bytes to text: by byte order mark, as UTF-8 if valid, by the claimed charset, else as windows-1252. */

export type DecodedPieces = AsyncIterable<string> | Iterable<string>;

/** Undefined when the bytes are not text. */
export function decodeText(bytes: Buffer, claimedCharset?: string): string | undefined {
  const marked = markOf(bytes) ?? unmarkedUtf16(bytes);
  const text = marked ? decodeAs(marked, bytes) : decodeUnmarked(bytes, claimedCharset);
  return text === undefined || hasControls(text) ? undefined : text;
}

function decodeUnmarked(bytes: Buffer, claimedCharset: string | undefined): string | undefined {
  const text = decodeAs('utf-8', bytes);
  if (text !== undefined) return text;
  const claimed = claimedCharset === undefined ? undefined : decodeAs(claimedCharset, bytes);
  return claimed ?? decodeWestern(bytes);
}

function decodeAs(charset: string, bytes: Buffer): string | undefined {
  try {
    const decoder = new TextDecoder(charset, { fatal: true });
    return decoder.encoding === WESTERN ? decodeWestern(bytes) : decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

const WESTERN = 'windows-1252';
const WESTERN_SIGNS = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/** Node 20 decodes windows-1252 as Latin 1, which has no characters from 0x80 to 0x9f. */
export function decodeWestern(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(/[\x80-\x9f]/g, (control) => WESTERN_SIGNS[control.charCodeAt(0) - 0x80] ?? control);
}

/** Encoding by the byte order mark. */
export function markOf(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return undefined;
}

/** Western text in UTF-16 has a zero byte in nearly every pair. */
function unmarkedUtf16(bytes: Buffer): string | undefined {
  const looked = bytes.subarray(0, 1_000);
  if (looked.length < 4 || bytes.length % 2 === 1) return undefined;
  const zeros = [0, 0];
  for (const [index, byte] of looked.entries()) if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  const most = looked.length * 0.35;
  if (odd > most && even === 0) return 'utf-16le';
  return even > most && odd === 0 ? 'utf-16be' : undefined;
}

/** Normal texts may contain tab, line ends, page break, escape and the old end-of-file mark. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const CONTROLS = /[\x00-\x08\x0b\x0e-\x19\x1c-\x1f]/;

function hasControls(text: string): boolean {
  return CONTROLS.test(text);
}

/** Decodes a part of an archive by its byte order mark, else as UTF-16 or UTF-8. */
export async function* decodePieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  for await (const piece of pieces) {
    decoder ??= new TextDecoder(markOf(piece) ?? unmarkedUtf16(piece) ?? 'utf-8');
    yield decoder.decode(piece, { stream: true });
  }
  if (decoder) yield decoder.decode();
}
