/**
 * A JSON body with files in it as base64. Long strings go to disk as they arrive, already decoded; what is left of the body
 * is small, and is parsed as any other. Ten pictures of 25 MB take no more memory than one chunk of each.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { FareboxError } from '../../domain/errors.ts';
import { JsonBytes } from '../../domain/json/jsonBytes.ts';
import { JsonReader, MORE, NAME, QUOTE, VALUE } from '../../domain/json/jsonReader.ts';
import { BodyBuffer } from './bodyBuffer.ts';
import { invalidJson, isNoJson, JSON_LIMITS, parseJson } from './readJson.ts';
import { Spool, type SpooledText, type SpoolOptions } from './spooledText.ts';
import { bodyTooLarge } from './tooLarge.ts';

export interface SpooledJsonOptions extends SpoolOptions {
  maxBytes: number;
}

/** Longer than any other field can be: 32,768 letters, each written as an escape of six bytes. */
const IN_MEMORY_BYTES = 256 * 1024;
/** All that is no file: ten strings that are just short enough, and a prompt. */
const MAX_REST_BYTES = 4 * 1024 * 1024;
const MAX_SPOOLS = 16;
const UPLOAD_TIMEOUT_MS = 120_000;

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
    for await (const chunk of options.bodyReader.chunks(request, limits)) await reader.push(chunk);
    return reader.finish();
  } finally {
    await reader.close();
  }
}

class SpoolingReader {
  readonly #options: SpoolOptions;
  readonly #reader = new JsonReader(JSON_LIMITS);
  #isJson = true;
  /** In the place of long strings; nobody outside can know them. */
  readonly #mark = `spooled ${randomUUID()} `;
  readonly #spooled: SpooledText[] = [];
  /** The body without its long strings. */
  readonly #rest: BodyBuffer;
  /** Where a string that is longer than its piece begins in the rest; it goes to a spool when it is long. */
  #stringAt = 0;
  #spool: Spool | undefined;
  /** Bytes of the body before the chunk. */
  #offset = 0;
  /** Bytes of the chunk that are kept already. */
  #kept = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#rest = new BodyBuffer({
      maxBytes: MAX_REST_BYTES + 2 * IN_MEMORY_BYTES,
      holding: options.holding,
    });
  }

  async push(chunk: Buffer): Promise<void> {
    if (!this.#isJson) return;
    try {
      await this.#read(chunk);
    } catch (error) {
      this.#isJson = !isNoJson(error);
    }
  }

  finish(): unknown {
    if (!this.#isJson) throw invalidJson();
    return this.#withSpooled(parseJson(this.#rest.bytes()));
  }

  async close(): Promise<void> {
    await this.#spool?.close();
  }

  async #read(chunk: Buffer): Promise<void> {
    const reader = this.#reader;
    reader.write(new JsonBytes(chunk));
    this.#kept = 0;
    for (let step = reader.next(); step !== MORE; step = reader.next()) {
      const isString = step === NAME || (step === VALUE && reader.first === QUOTE);
      const isWhole = reader.stringAt >= this.#offset && reader.end - reader.stringAt <= IN_MEMORY_BYTES;
      if (!isString || isWhole) continue;
      await this.#keepString(chunk, reader.end - 1 - this.#offset);
      await this.#endString();
    }
    if (reader.isInString()) await this.#keepString(chunk, chunk.length);
    else this.#keep(chunk.subarray(this.#kept));
    this.#offset += chunk.length;
  }

  /** A part of a string, up to here, and what stands before it. */
  async #keepString(chunk: Buffer, end: number): Promise<void> {
    const start = this.#reader.stringAt + 1 - this.#offset;
    if (start > 0) {
      this.#keep(chunk.subarray(this.#kept, start));
      this.#stringAt = this.#rest.length;
    }
    const piece = chunk.subarray(Math.max(start, 0), end);
    this.#kept = end;
    if (this.#spool) return await this.#spool.push(piece);
    this.#rest.append(piece);
    if (this.#rest.length - this.#stringAt <= IN_MEMORY_BYTES) return;
    if (this.#spooled.length === MAX_SPOOLS) throw tooMany();
    this.#spool = new Spool(this.#options, `spooled-${this.#spooled.length}`);
    await this.#spool.push(this.#rest.bytes().subarray(this.#stringAt));
    this.#rest.cut(this.#stringAt);
  }

  async #endString(): Promise<void> {
    if (!this.#spool) return;
    this.#rest.append(Buffer.from(`${this.#mark}${this.#spooled.length}`));
    this.#spooled.push(await this.#spool.finish());
    await this.#spool.close();
    this.#spool = undefined;
  }

  #keep(bytes: Buffer): void {
    if (this.#rest.length + bytes.length > MAX_REST_BYTES) throw bodyTooLarge();
    this.#rest.append(bytes);
  }

  /** Depth and members are bounded by the reader. Names of members stay as they are: no schema knows such a one. */
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
    message: `The JSON body has more than ${MAX_SPOOLS} long texts.`,
  });
}
