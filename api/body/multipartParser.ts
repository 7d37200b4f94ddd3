/**
 * Cuts a multipart body (RFC 2046, 7578) into its parts as it arrives. Keeps at most one header block or one boundary's
 * length of bytes between two chunks. Strict where leniency is an attack: no preamble, no folded headers, a final boundary.
 * (formidable 3.5 was tried: a part with `Content-Transfer-Encoding: 7bit` ends in an unhandled rejection, header blocks
 * have no limit, and bytes that begin like the boundary are damaged under back-pressure.)
 */
import { type PartHead, parsePartHead } from './partHeaders.ts';

export type MultipartEvent =
  | { kind: 'part'; head: PartHead }
  | { kind: 'data'; bytes: Buffer }
  | { kind: 'end' }
  /** Nothing after it counts. */
  | { kind: 'malformed'; reason: string };

const MAX_PARTS = 32;
const MAX_HEADER_BYTES = 4_096;
const HEADERS_END = Buffer.from('\r\n\r\n');

type State = 'boundary' | 'afterBoundary' | 'headers' | 'data' | 'finished' | 'malformed';

export class MultipartParser {
  readonly #delimiter: Buffer;
  #state: State = 'boundary';
  #parts = 0;
  /** Unparsed bytes. It begins with a line break, so that the first boundary is like the others. */
  #rest: Buffer = Buffer.from('\r\n');

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  *push(chunk: Buffer): Generator<MultipartEvent, void> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let event = this.#step(); event !== undefined; event = this.#step()) {
      if (event !== 'again') yield event;
    }
    // The rest is short; it is copied, so that it does not keep the whole chunk alive.
    const over = this.#state === 'finished' || this.#state === 'malformed';
    this.#rest = over ? Buffer.alloc(0) : Buffer.from(this.#rest);
  }

  /** Whether the final boundary was seen. */
  get finished(): boolean {
    return this.#state === 'finished';
  }

  /** Takes one step; undefined when more bytes are needed or the body has ended. */
  #step(): MultipartEvent | 'again' | undefined {
    switch (this.#state) {
      case 'boundary':
        return this.#firstBoundary();
      case 'afterBoundary':
        return this.#afterBoundary();
      case 'headers':
        return this.#headers();
      case 'data':
        return this.#data();
      case 'finished':
      case 'malformed':
        return undefined;
    }
  }

  #firstBoundary(): MultipartEvent | 'again' | undefined {
    const { length } = this.#delimiter;
    if (this.#rest.length < length) return undefined;
    if (!this.#rest.subarray(0, length).equals(this.#delimiter)) return this.#malformed('no boundary at its start');
    return this.#advance(length, 'afterBoundary');
  }

  #afterBoundary(): MultipartEvent | 'again' | undefined {
    if (this.#rest.length < 2) return undefined;
    const mark = this.#rest.toString('latin1', 0, 2);
    if (mark === '--') return this.#advance(2, 'finished');
    if (mark !== '\r\n') return this.#malformed('a boundary that does not end its line');
    this.#parts += 1;
    if (this.#parts > MAX_PARTS) return this.#malformed(`more than ${MAX_PARTS} parts`);
    return this.#advance(2, 'headers');
  }

  #headers(): MultipartEvent | undefined {
    const end = this.#rest.subarray(0, MAX_HEADER_BYTES + HEADERS_END.length).indexOf(HEADERS_END);
    if (end < 0) {
      const tooLarge = this.#rest.length > MAX_HEADER_BYTES;
      return tooLarge ? this.#malformed('a part with too large headers') : undefined;
    }
    const head = parsePartHead(this.#rest.subarray(0, end));
    if (!head) return this.#malformed('a part with malformed headers');
    this.#advance(end + HEADERS_END.length, 'data');
    return { kind: 'part', head };
  }

  #data(): MultipartEvent | undefined {
    const found = this.#rest.indexOf(this.#delimiter);
    if (found === 0) {
      this.#advance(this.#delimiter.length, 'afterBoundary');
      return { kind: 'end' };
    }
    const until = found > 0 ? found : this.#rest.length - this.#begunDelimiter();
    if (until === 0) return undefined;
    const bytes = this.#rest.subarray(0, until);
    this.#advance(until, 'data');
    return { kind: 'data', bytes };
  }

  /**
   * Number of trailing bytes that may begin a boundary. Mostly none, and then the next chunk is not copied behind them:
   * for large files that was half of the garbage.
   */
  #begunDelimiter(): number {
    const rest = this.#rest;
    const first = this.#delimiter.readUInt8(0);
    let at = rest.indexOf(first, Math.max(0, rest.length - this.#delimiter.length + 1));
    while (at >= 0 && !rest.subarray(at).equals(this.#delimiter.subarray(0, rest.length - at))) {
      at = rest.indexOf(first, at + 1);
    }
    return at < 0 ? 0 : rest.length - at;
  }

  #advance(bytes: number, next: State): 'again' {
    this.#rest = this.#rest.subarray(bytes);
    this.#state = next;
    return 'again';
  }

  #malformed(reason: string): MultipartEvent {
    this.#state = 'malformed';
    return { kind: 'malformed', reason };
  }
}
