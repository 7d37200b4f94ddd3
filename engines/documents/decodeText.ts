/** Bytes to characters: by their mark, by what was claimed, as UTF-8 if they are that, else as Windows wrote them in the West. */

export type DecodedPieces = AsyncIterable<string> | Iterable<string>;

/** Undefined: these bytes are no text. */
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

/** Node 20 reads windows-1252 as Latin 1, which has no signs there. */
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

/** Western text in UTF-16 has a zero in nearly every pair. */
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

/** Tab, line ends, page break, escape and the old end-of-file mark are in honest texts. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const CONTROLS = /[\x00-\x08\x0b\x0e-\x19\x1c-\x1f]/;

function hasControls(text: string): boolean {
  return CONTROLS.test(text);
}

/** A part of an archive, whose XML says its encoding only by its mark. */
export async function* decodePieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  for await (const piece of pieces) {
    decoder ??= new TextDecoder(markOf(piece) ?? unmarkedUtf16(piece) ?? 'utf-8');
    yield decoder.decode(piece, { stream: true });
  }
  if (decoder) yield decoder.decode();
}
