/**
 * Extracts the images of `{"data": [{"b64_json": "…"}]}` to files while it arrives, so that only a piece of one is in
 * memory. The rest is small JSON with the index of each image in its place.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { garbageFailure } from '../../shared/textFailures.ts';

export interface ScannedPicture {
  path: string;
  head: Buffer;
}

const MAX_PICTURE_BYTES = 64 * 1024 * 1024;
const MAX_REST_BYTES = 1024 * 1024;
/** Bytes scanned before yielding to other work. */
const STEP_BYTES = 1024 * 1024;
const HEAD_BYTES = 16;
const FIELD = 'b64_json';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

interface OpenPicture extends ScannedPicture {
  file: FileHandle;
  /** Base64 characters of an incomplete group of four. */
  carried: string;
  ended: boolean;
}

export class PictureScanner {
  readonly pictures: ScannedPicture[] = [];
  private readonly pathOf: (index: number) => string;
  private readonly most: number;
  private readonly rest: Buffer[] = [];
  private restBytes = 0;
  private pictureBytes = 0;
  private picture: OpenPicture | undefined;
  private inString = false;
  private escaped = false;
  /** Beginning of the last string. */
  private word = '';
  private afterColon = false;

  constructor(most: number, pathOf: (index: number) => string) {
    this.most = most;
    this.pathOf = pathOf;
  }

  async take(piece: Buffer): Promise<void> {
    let at = 0;
    while (at < piece.length) {
      at = this.picture === undefined ? await this.plain(piece, at) : await this.base64(this.picture, piece, at);
    }
  }

  /** The JSON without the images. */
  end(): string {
    if (this.picture !== undefined) throw garbageFailure('a picture without an end');
    return Buffer.concat(this.rest).toString('utf8');
  }

  async close(): Promise<void> {
    await this.picture?.file.close();
    this.picture = undefined;
  }

  private async plain(piece: Buffer, from: number): Promise<number> {
    const end = Math.min(piece.length, from + STEP_BYTES);
    for (let at = from; at < end; at += 1) {
      if (!this.beginsPicture(piece[at] ?? 0)) continue;
      this.keep(piece.subarray(from, at + 1));
      await this.begin();
      return at + 1;
    }
    this.keep(piece.subarray(from, end));
    return end;
  }

  private beginsPicture(byte: number): boolean {
    if (this.inString) {
      if (this.escaped) this.escaped = false;
      else if (byte === BACKSLASH) this.escaped = true;
      else if (byte === QUOTE) this.inString = false;
      if (this.inString && this.word.length <= FIELD.length) this.word += String.fromCharCode(byte);
      return false;
    }
    if (byte === QUOTE) {
      const begins = this.afterColon && this.word === FIELD;
      this.inString = !begins;
      this.word = '';
      this.afterColon = false;
      return begins;
    }
    if (byte === COLON) this.afterColon = true;
    else if (byte > 0x20) {
      this.afterColon = false;
      this.word = '';
    }
    return false;
  }

  private keep(bytes: Buffer): void {
    this.restBytes += bytes.length;
    if (this.restBytes > MAX_REST_BYTES) throw garbageFailure('the answer is too large');
    this.rest.push(bytes);
  }

  private async begin(): Promise<void> {
    const index = this.pictures.length;
    if (index >= this.most) throw garbageFailure('more pictures than were ordered');
    const path = this.pathOf(index);
    this.keep(Buffer.from(String(index)));
    const file = await open(path, 'wx', 0o600);
    this.picture = { path, head: Buffer.alloc(0), file, carried: '', ended: false };
  }

  private async base64(picture: OpenPicture, piece: Buffer, from: number): Promise<number> {
    const step = piece.subarray(from, from + STEP_BYTES);
    const quote = step.indexOf(QUOTE);
    const last = quote !== -1;
    const end = from + (last ? quote : step.length);
    // Some servers escape slashes as `\/`.
    const text = (picture.carried + piece.toString('latin1', from, end)).replaceAll('\\/', '/');
    const usable = last || !text.endsWith('\\') ? text.length : text.length - 1;
    const whole = last ? usable : usable - (usable % 4);
    picture.carried = text.slice(whole);
    await this.write(picture, text.slice(0, whole));
    if (!last) return end;
    await picture.file.close();
    this.picture = undefined;
    this.pictures.push({ path: picture.path, head: picture.head });
    this.keep(piece.subarray(end, end + 1));
    return end + 1;
  }

  private async write(picture: OpenPicture, text: string): Promise<void> {
    if (text === '') return;
    const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
    const digits = text.length - padding;
    const bytes = Buffer.from(text, 'base64');
    // The decoder skips invalid characters and stops at the padding.
    const isWhole = !picture.ended && bytes.length === Math.floor((digits * 3) / 4) && digits % 4 !== 1;
    if (!isWhole) throw garbageFailure('a picture that is no base64');
    picture.ended = padding > 0;
    this.pictureBytes += bytes.length;
    if (this.pictureBytes > MAX_PICTURE_BYTES) throw garbageFailure('the pictures are too large');
    if (picture.head.length < HEAD_BYTES) {
      picture.head = Buffer.concat([picture.head, bytes.subarray(0, HEAD_BYTES)]);
    }
    await picture.file.write(bytes);
  }
}
