/**
 * A JSON body with files in it as base64. Long strings go to disk as they arrive, already decoded; what is left of the body
 * is small, and is parsed as any other. Ten pictures of 25 MB take no more memory than one chunk of each.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { FareboxError } from '../../domain/errors.ts';
import { BodyBuffer } from './bodyBuffer.ts';
import { bodyChunks } from './bodyStream.ts';
import { createJsonScanner } from './jsonScanner.ts';
import { invalidJson, parseJson, tooComplex } from './readJson.ts';
import { Spool, type SpooledText, type SpoolOptions } from './spooledText.ts';
import { bodyTooLarge } from './tooLarge.ts';

export interface SpooledJsonOptions extends SpoolOptions {
  maxBytes: number;
}

/** Longer than any other field can be: 32,768 letters, each written as an escape of six bytes. */
const IN_MEMORY_BYTES = 256 * 1024;
/** All that is no file: ten strings that are just short enough, and a prompt. */
const LARGEST_REST_BYTES = 4 * 1024 * 1024;
const MOST_SPOOLS = 16;
const UPLOAD_TIMEOUT_MS = 120_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CLOSING = Buffer.from('"');

/**
 * The body with a SpooledText where a long string was. Throws `body_too_large`, `payload_too_large`, `invalid_json`, or
 * `invalid_request` for one that is too deep, has too many members, or more long strings than any route takes.
 */
export async function readSpooledJson(
  request: IncomingMessage,
  { maxBytes, ...options }: SpooledJsonOptions,
): Promise<unknown> {
  const reader = new SpoolingReader(options);
  try {
    const limits = { maxBytes, timeoutMs: UPLOAD_TIMEOUT_MS, tooLarge: bodyTooLarge };
    for await (const chunk of bodyChunks(request, limits)) await reader.push(chunk);
    return reader.finish();
  } catch (error) {
    throw error instanceof SyntaxError ? invalidJson() : error;
  } finally {
    await reader.close();
  }
}

class SpoolingReader {
  readonly #options: SpoolOptions;
  readonly #scanner = createJsonScanner();
  /** In the place of long strings; nobody outside can know them. */
  readonly #mark = `spooled ${randomUUID()} `;
  readonly #spooled: SpooledText[] = [];
  /** The body without its long strings. */
  readonly #rest: BodyBuffer;
  #inString = false;
  /** The bytes before ended with a backslash that escapes. */
  #isEscaped = false;
  /** Of the string that is being read, as long as it is short. */
  readonly #string: BodyBuffer;
  #spool: Spool | undefined;

  constructor(options: SpoolOptions) {
    this.#options = options;
    const { holding } = options;
    this.#rest = new BodyBuffer({ maxBytes: LARGEST_REST_BYTES, holding });
    this.#string = new BodyBuffer({ maxBytes: 2 * IN_MEMORY_BYTES, holding });
  }

  async push(chunk: Buffer): Promise<void> {
    let from = 0;
    while (from < chunk.length) {
      if (!this.#inString) {
        from = this.#between(chunk, from);
        continue;
      }
      const end = this.#endOfString(chunk, from);
      const until = end < 0 ? chunk.length : end;
      await this.#take(chunk.subarray(from, until));
      if (end >= 0) await this.#endString();
      from = end < 0 ? until : end + 1;
    }
  }

  finish(): unknown {
    if (this.#inString) throw invalidJson();
    return this.#withSpooled(parseJson(this.#rest.bytes()));
  }

  async close(): Promise<void> {
    await this.#spool?.close();
  }

  /** Up to and with the next opening quote. */
  #between(chunk: Buffer, from: number): number {
    const quote = chunk.indexOf(QUOTE, from);
    const until = quote < 0 ? chunk.length : quote + 1;
    const piece = chunk.subarray(from, until);
    const excess = this.#scanner.scan(piece);
    if (excess) throw tooComplex(excess);
    this.#keep(piece);
    this.#inString = quote >= 0;
    return until;
  }

  /** Where the closing quote is: one before which the number of backslashes is even. -1: not in this chunk. */
  #endOfString(chunk: Buffer, from: number): number {
    for (let at = from; ; ) {
      const quote = chunk.indexOf(QUOTE, at);
      const end = quote < 0 ? chunk.length : quote;
      let run = 0;
      while (end - run > from && chunk[end - run - 1] === BACKSLASH) run += 1;
      const before = end - run === from && this.#isEscaped ? 1 : 0;
      const isEscaped = (run + before) % 2 === 1;
      if (quote < 0 || !isEscaped) {
        this.#isEscaped = quote < 0 && isEscaped;
        return quote;
      }
      at = quote + 1;
    }
  }

  async #take(piece: Buffer): Promise<void> {
    if (this.#spool) return await this.#spool.push(piece);
    this.#string.append(piece);
    if (this.#string.length <= IN_MEMORY_BYTES) return;
    if (this.#spooled.length === MOST_SPOOLS) throw tooMany();
    this.#spool = new Spool(this.#options, `spooled-${this.#spooled.length}`);
    await this.#spool.push(this.#string.bytes());
    this.#string.clear();
  }

  async #endString(): Promise<void> {
    if (this.#spool) {
      this.#keep(Buffer.from(`${this.#mark}${this.#spooled.length}`));
      this.#spooled.push(await this.#spool.finish());
      await this.#spool.close();
      this.#spool = undefined;
    } else {
      this.#keep(this.#string.bytes());
    }
    this.#string.clear();
    this.#inString = false;
    this.#scanner.scan(CLOSING);
    this.#keep(CLOSING);
  }

  #keep(bytes: Buffer): void {
    if (this.#rest.length + bytes.length > LARGEST_REST_BYTES) throw bodyTooLarge();
    this.#rest.append(bytes);
  }

  /** Depth and members are bounded by the scanner. Names of members stay as they are: no schema knows such a one. */
  #withSpooled(value: unknown): unknown {
    if (this.#spooled.length === 0) return value;
    if (typeof value === 'string' && value.startsWith(this.#mark)) {
      return this.#spooled[Number(value.slice(this.#mark.length))];
    }
    if (typeof value !== 'object' || value === null) return value;
    const members = value as Record<string, unknown>;
    for (const name of Object.keys(members)) members[name] = this.#withSpooled(members[name]);
    return value;
  }
}

function tooMany(): FareboxError {
  return new FareboxError({
    code: 'invalid_request',
    message: `The JSON body has more than ${MOST_SPOOLS} long texts.`,
  });
}
