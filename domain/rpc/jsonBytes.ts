/**
 * Bytes of JSON, which are compared, copied and searched four at a time, through a view of them: byte by byte that takes two
 * or three times as long, and a call into the runtime for each piece of a few dozen bytes longer still.
 */
export class JsonBytes {
  readonly bytes: Buffer;
  readonly view: DataView;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  text(start: number, end: number): string {
    return this.bytes.toString('utf8', start, end);
  }

  /** Whether `words` stand at a place. */
  says({ bytes: words, view: fours }: JsonBytes, at: number): boolean {
    const { bytes, view } = this;
    const { length } = words;
    if (at < 0 || at + length > bytes.length) return false;
    let index = 0;
    for (; index + 4 <= length; index += 4) {
      if (view.getInt32(at + index, true) !== fours.getInt32(index, true)) return false;
    }
    for (; index < length; index += 1) if (bytes[at + index] !== words[index]) return false;
    return true;
  }

  /** Whether so many bytes are the same at two places. */
  isSame(left: number, right: number, length: number): boolean {
    const { bytes } = this;
    for (let index = 0; index < length; index += 1) {
      if (bytes[left + index] !== bytes[right + index]) return false;
    }
    return true;
  }
}

/** `text`: JSON, or a part of it. */
export const jsonBytes = (text: string) => new JsonBytes(Buffer.from(text));
