/** Collects a body in one growing buffer: a Buffer for each chunk would cost 200 bytes and more (bench `memory`). */
import { getHeapStatistics } from 'node:v8';
import { FareboxError } from '../../domain/errors.ts';
import { type ByteBudget, createByteBudget, type ReservedBytes } from '../../infra/byteBudget.ts';

const NO_BYTES = Buffer.alloc(0);
/** Capacity from the second chunk on, so that small chunks need no buffer of their own. */
const MIN_GROWN_BYTES = 1_024;

export interface BodyBufferOptions {
  /** Largest capacity; the caller ensures that it suffices. */
  maxBytes: number;
  /** Accounts for every byte before it is allocated. */
  reservedBytes: Pick<ReservedBytes, 'take'>;
}

export class BodyBuffer {
  readonly #options: BodyBufferOptions;
  #bytes: Buffer = NO_BYTES;
  #length = 0;

  constructor(options: BodyBufferOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#length;
  }

  /** Copies the chunk. Throws the error of the memory account. */
  append(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#bytes.length) this.#grow(length);
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
  }

  /** All bytes, until the next `append` or `cut`. */
  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Truncates to this size and keeps the memory. */
  cut(length: number): void {
    this.#length = length;
  }

  #grow(length: number): void {
    const before = this.#bytes;
    const { maxBytes, reservedBytes } = this.#options;
    const grown = Math.min(Math.max(2 * before.length, MIN_GROWN_BYTES), maxBytes);
    // Most bodies come in one chunk, whose buffer has exactly its size.
    const capacity = before.length === 0 ? length : Math.max(length, grown);
    reservedBytes.take(capacity - before.length);
    this.#bytes = Buffer.allocUnsafe(capacity);
    this.#bytes.set(before.subarray(0, this.#length));
  }
}

/** Bodies up to this size may use the whole budget: large bodies of a few callers do not keep out ordinary requests. */
const SMALL_BODY_BYTES = 256 * 1024;
const LARGE_BODIES_SHARE = 0.75;
/** Share of the memory for large bodies that one account or address may use. The largest body always fits. */
const OWNER_SHARE = 0.5;
const MAX_BODY_BYTES = 35 * 1024 * 1024;
const RETRY_AFTER_SECONDS = 2;
/** A parsed body may take two bytes of heap for each byte sent, and twice that during parsing. */
const HEAP_SHARE = 0.25;

/**
 * Budget of bytes of request bodies in memory, for all requests together. `maxBytes`: a quarter of the heap by default.
 */
export function createBodyBudget(maxBytes = getHeapStatistics().heap_size_limit * HEAP_SHARE): ByteBudget {
  const maxLargeBytes = maxBytes * LARGE_BODIES_SHARE;
  const maxOwnerBytes = Math.max(maxLargeBytes * OWNER_SHARE, MAX_BODY_BYTES);
  return createByteBudget(({ ofRequest, ofOwner, ofAll }) => {
    const isSmall = ofRequest <= SMALL_BODY_BYTES;
    if (ofAll > (isSmall ? maxBytes : maxLargeBytes)) throw noRoom(ofAll);
    if (!isSmall && ofOwner > maxOwnerBytes) throw noRoom(ofOwner);
  });
}

function noRoom(wantedBytes: number): FareboxError {
  return new FareboxError({
    code: 'unavailable',
    message: `Too many large requests are being read at the moment; try again in ${RETRY_AFTER_SECONDS} seconds`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    internal: `${wantedBytes} bytes of bodies would be held`,
  });
}
