/** Bytes of a body in one buffer that grows: a Buffer for each chunk would cost 200 bytes and more, also for one byte. */
import type { Holding } from '../../infra/byteBudget.ts';

const NO_BYTES = Buffer.alloc(0);
/** The second chunk gets at least this much, so that the chunks after it need no buffer of their own. */
const MIN_GROWN_BYTES = 1_024;

export interface BodyBufferOptions {
  /** It never has more capacity than this; who appends sees to it that it needs no more. */
  maxBytes: number;
  /** Told of every byte before it is allocated. */
  holding: Pick<Holding, 'take'>;
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

  /** Copies the chunk. Throws what the holding throws. */
  append(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#bytes.length) this.#grow(length);
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
  }

  /** All bytes, until the next `append` or `clear`. */
  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Keeps the memory for the bytes that follow. */
  clear(): void {
    this.#length = 0;
  }

  #grow(length: number): void {
    const before = this.#bytes;
    const { maxBytes, holding } = this.#options;
    const grown = Math.min(Math.max(2 * before.length, MIN_GROWN_BYTES), maxBytes);
    // Most bodies come in one chunk: their buffer is exactly as large.
    const capacity = before.length === 0 ? length : Math.max(length, grown);
    holding.take(capacity - before.length);
    this.#bytes = Buffer.allocUnsafe(capacity);
    this.#bytes.set(before.subarray(0, this.#length));
  }
}
