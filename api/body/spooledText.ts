/** Long string of a JSON body, decoded from base64 into a file as it arrives: it is never in memory as a whole. */
import { z } from 'zod';
import type { ReservedBytes } from '../../infra/byteBudget.ts';
import { dataUrlHead } from '../http/dataUrl.ts';
import type { UploadedFile } from '../http/route.ts';
import { Base64Decoder } from './base64.ts';
import type { BodyReader } from './bodyReader.ts';
import { fileTooLarge } from './tooLarge.ts';
import { Upload } from './upload.ts';

/** Value in a parsed body in place of such a string. */
export class SpooledText {
  /** Undefined: the string was neither base64 nor a data URL of it. */
  readonly file: UploadedFile | undefined;

  constructor(file: UploadedFile | undefined) {
    this.file = file;
  }
}

/** For fields that take a file as base64, a data URL or an address. */
export const fileText = z
  .custom<string | SpooledText>(isFileText, { error: 'Must be a text that is not empty' })
  .meta({ type: 'string', minLength: 1, description: 'Base64, a data URL or an http(s) URL.' });

function isFileText(value: unknown): boolean {
  return value instanceof SpooledText || (typeof value === 'string' && value !== '');
}

export interface SpoolOptions {
  bodyReader: BodyReader;
  /** Largest decoded size. */
  maxFileBytes: number;
  createFolder(): Promise<string>;
  /** Accounts for bytes in memory. */
  reservedBytes: ReservedBytes;
  /** Accounts for bytes before they are written to disk. */
  noteSpooled(bytes: number): void;
}

const HEAD_LETTERS = 512;
const UNKNOWN_TYPE = 'application/octet-stream';

export class Spool {
  readonly #upload: Upload;
  readonly #decoder = new Base64Decoder();
  readonly #maxFileBytes: number;
  #type: string | undefined;
  /** Start of an escape that the next piece completes. */
  #cut = '';

  constructor({ maxFileBytes, ...spooling }: SpoolOptions, name: string) {
    this.#upload = new Upload(spooling, name);
    this.#maxFileBytes = maxFileBytes;
  }

  /** Bytes as they stand between the quotes; the first piece has all of a data URL's head. Throws SyntaxError. */
  async push(raw: Buffer): Promise<void> {
    let text = this.#unescape(raw);
    if (this.#type === undefined) {
      const head = dataUrlHead(text.slice(0, HEAD_LETTERS));
      if (head === 'malformed') this.#decoder.isMalformed = true;
      else if (head) text = text.slice(head.length);
      this.#type = (head !== 'malformed' && head?.type) || UNKNOWN_TYPE;
    }
    await this.#keep(this.#decoder.push(text));
  }

  async finish(): Promise<SpooledText> {
    if (this.#cut !== '') throw new SyntaxError('an escape that is cut off');
    await this.#keep(this.#decoder.finish());
    if (this.#decoder.isMalformed || this.#upload.sizeBytes === 0) return new SpooledText(undefined);
    const claimed = { claimedContentType: this.#type ?? UNKNOWN_TYPE, claimedName: '' };
    return new SpooledText({ ...(await this.#upload.finish()), ...claimed });
  }

  close(): Promise<void> {
    return this.#upload.close();
  }

  async #keep(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    if (this.#upload.sizeBytes + bytes.length > this.#maxFileBytes) throw fileTooLarge(this.#maxFileBytes);
    await this.#upload.take(bytes);
  }

  /** Non-ASCII letters are decoded wrongly, but neither they nor the result are base64. */
  #unescape(raw: Buffer): string {
    const text = this.#cut + raw.toString('latin1');
    const whole = text.length - cutEscape(text);
    this.#cut = text.slice(whole);
    return JSON.parse(`"${text.slice(0, whole)}"`) as string;
  }
}

/** Number of trailing letters that begin an escape. */
function cutEscape(text: string): number {
  const at = text.lastIndexOf('\\');
  if (at < 0) return 0;
  let run = 1;
  while (text[at - run] === '\\') run += 1;
  const length = text.length - at;
  return run % 2 === 1 && length < (text[at + 1] === 'u' ? 6 : 2) ? length : 0;
}
