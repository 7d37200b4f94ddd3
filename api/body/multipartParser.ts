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

export interface MultipartParser {
  push(chunk: Buffer): Generator<MultipartEvent, void>;
  /** Whether the final boundary was seen. */
  finished(): boolean;
}

const MOST_PARTS = 32;
const LARGEST_HEADER_BYTES = 4_096;
const HEADERS_END = Buffer.from('\r\n\r\n');

type State = 'boundary' | 'afterBoundary' | 'headers' | 'data' | 'finished' | 'malformed';

export function createMultipartParser(boundary: string): MultipartParser {
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  let state: State = 'boundary';
  let parts = 0;
  // The body begins as if a line had just ended, so that the first boundary is like the others.
  let rest: Buffer = Buffer.from('\r\n');

  function malformed(reason: string): MultipartEvent {
    state = 'malformed';
    return { kind: 'malformed', reason };
  }

  /** One step forward; undefined when more bytes are needed or nothing more will be done. */
  function step(): MultipartEvent | 'again' | undefined {
    switch (state) {
      case 'boundary':
        if (rest.length < delimiter.length) return undefined;
        if (!rest.subarray(0, delimiter.length).equals(delimiter))
          return malformed('no boundary at its start');
        return advance(delimiter.length, 'afterBoundary');
      case 'afterBoundary':
        return afterBoundary();
      case 'headers':
        return headers();
      case 'data':
        return data();
      case 'finished':
      case 'malformed':
        return undefined;
    }
  }

  function advance(bytes: number, next: State): 'again' {
    rest = rest.subarray(bytes);
    state = next;
    return 'again';
  }

  function afterBoundary(): MultipartEvent | 'again' | undefined {
    if (rest.length < 2) return undefined;
    const mark = rest.toString('latin1', 0, 2);
    if (mark === '--') return advance(2, 'finished');
    if (mark !== '\r\n') return malformed('a boundary that does not end its line');
    parts += 1;
    return parts > MOST_PARTS ? malformed(`more than ${MOST_PARTS} parts`) : advance(2, 'headers');
  }

  function headers(): MultipartEvent | undefined {
    const end = rest.subarray(0, LARGEST_HEADER_BYTES + HEADERS_END.length).indexOf(HEADERS_END);
    if (end < 0) {
      return rest.length > LARGEST_HEADER_BYTES ? malformed('a part with too large headers') : undefined;
    }
    const head = parsePartHead(rest.subarray(0, end));
    if (!head) return malformed('a part with malformed headers');
    advance(end + HEADERS_END.length, 'data');
    return { kind: 'part', head };
  }

  function data(): MultipartEvent | 'again' | undefined {
    const found = rest.indexOf(delimiter);
    if (found === 0) {
      advance(delimiter.length, 'afterBoundary');
      return { kind: 'end' };
    }
    // The last bytes may be the beginning of a boundary that the next chunk completes.
    const until = found > 0 ? found : rest.length - delimiter.length + 1;
    if (until <= 0) return undefined;
    const bytes = rest.subarray(0, until);
    rest = rest.subarray(until);
    return { kind: 'data', bytes };
  }

  return {
    *push(chunk) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      for (let event = step(); event !== undefined; event = step()) {
        if (event !== 'again') yield event;
      }
      // What stays is short; copied, so that it does not keep the whole chunk alive.
      rest = state === 'finished' || state === 'malformed' ? Buffer.alloc(0) : Buffer.from(rest);
    },
    finished: () => state === 'finished',
  };
}
