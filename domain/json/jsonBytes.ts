/** Bytes of JSON, compared, copied and searched four at a time through a view (bench `rpc`). */

export class JsonBytes {
  readonly bytes: Buffer;
  readonly view: DataView;
  readonly length: number;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.length = bytes.length;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  text(start: number, end: number): string {
    return this.bytes.toString('utf8', start, end);
  }

  /** Whether `words` are at a position. */
  says({ bytes: words, view: fours, length }: JsonBytes, at: number): boolean {
    const { bytes, view } = this;
    if (at < 0 || at + length > this.length) return false;
    let index = 0;
    for (; index + 4 <= length; index += 4) {
      if (view.getInt32(at + index, true) !== fours.getInt32(index, true)) return false;
    }
    for (; index < length; index += 1) if (bytes[at + index] !== words[index]) return false;
    return true;
  }

  /** Whether this many bytes are equal at two positions. */
  isSame(left: number, right: number, length: number): boolean {
    const { bytes, view } = this;
    let index = 0;
    for (; index + 4 <= length; index += 4) {
      if (view.getInt32(left + index) !== view.getInt32(right + index)) return false;
    }
    for (; index < length; index += 1) if (bytes[left + index] !== bytes[right + index]) return false;
    return true;
  }

  /** Skips groups of four bytes without a special one in a string. Stops at most three bytes too early. */
  afterPlain(from: number): number {
    const { view } = this;
    const last = this.length - 4;
    let at = from;
    for (; at <= last; at += 4) {
      const four = view.getInt32(at, true);
      const quotes = four ^ 0x22222222;
      const slashes = four ^ 0x5c5c5c5c;
      // The highest bit is set in each byte that is below 0x20, a quote or a backslash.
      const control = (four - 0x20202020) & ~four;
      const special = ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes);
      if (((control | special) & 0x80808080) !== 0) break;
    }
    return at;
  }
}

/** `text`: JSON, or a part of it. */
export const jsonBytes = (text: string) => new JsonBytes(Buffer.from(text));
