/**
 * Reads a JSON body that has files in base64. Long strings are decoded to disk as they arrive; the rest of the body is
 * small, and is parsed like any other. Ten pictures of 25 MB take no more memory than one chunk of each.
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

/** Longer than any other field: 32,768 letters, each as an escape of six bytes. */
const IN_MEMORY_BYTES = 256 * 1024;
/** The body without files: ten strings just below the limit, and a prompt. */
const MAX_REST_BYTES = 4 * 1024 * 1024;
const MAX_SPOOLS = 16;
const UPLOAD_TIMEOUT_MS = 120_000;

/**
 * Returns the body with a SpooledText for each long string. Throws `body_too_large`, `payload_too_large`,
 * `invalid_json`, or `invalid_request` for a body that is too deep, or has too many members or long strings.
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
  /** Placeholders of long strings; no client can guess them. */
  readonly #mark = `spooled ${randomUUID()} `;
  readonly #spooled: SpooledText[] = [];
  /** The body without its long strings. */
  readonly #rest: BodyBuffer;
  /** Start in the rest of a string that is longer than its piece; it is spooled when it is long. */
  #stringAt = 0;
  #spool: Spool | undefined;
  /** Offset of the chunk in the body. */
  #offset = 0;
  /** Number of bytes of the chunk that are kept already. */
  #kept = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#rest = new BodyBuffer({
      maxBytes: MAX_REST_BYTES + 2 * IN_MEMORY_BYTES,
      reservedBytes: options.reservedBytes,
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

  /** Part of a string up to here, with the text before it. */
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

  /** The reader bounds depth and members. Names of members are never spooled: no schema has such a long one. */
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
