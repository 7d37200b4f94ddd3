/**
 * Looks at the raw bytes of a JSON body as they arrive and counts what would make parsing it expensive: depth, keys and
 * values. Ten megabytes of `[` would otherwise stop the event loop for seconds. It does not judge whether the text is
 * valid: that is JSON.parse's, which then has a bounded amount of work.
 */
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../../engines/text/jsonMarks.ts';

export interface JsonLimits {
  depth: number;
  keys: number;
  /** Members of arrays and objects together. */
  values: number;
}

/**
 * 20,000 distinct names are parsed in 5 ms; 50,000 would already take 20 to 30 ms of a core. Values that fit no schema cost
 * more: each is a finding, and 100,000 findings take a third of a second, or more arguments than a call can have.
 */
export const JSON_LIMITS: JsonLimits = { depth: 64, keys: 20_000, values: 20_000 };

export type JsonExcess = 'depth' | 'keys' | 'values';

export interface JsonScanner {
  /** The first limit that is passed, or undefined. Bytes of a character may be split over two chunks. */
  scan(chunk: Uint8Array): JsonExcess | undefined;
}

export function createJsonScanner(limits: JsonLimits = JSON_LIMITS): JsonScanner {
  let depth = 0;
  let keys = 0;
  let values = 0;
  let inString = false;
  let escaped = false;

  function skipString(chunk: Uint8Array, from: number): number {
    let index = from;
    for (; index < chunk.length; index += 1) {
      const byte = chunk[index];
      if (escaped) escaped = false;
      else if (byte === BACKSLASH) escaped = true;
      else if (byte === QUOTE) {
        inString = false;
        break;
      }
    }
    return index;
  }

  function count(byte: number | undefined): JsonExcess | undefined {
    switch (byte) {
      case QUOTE:
        inString = true;
        return undefined;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth += 1;
        return depth > limits.depth ? 'depth' : undefined;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        return undefined;
      case COLON:
        keys += 1;
        return keys > limits.keys ? 'keys' : undefined;
      case COMMA:
        values += 1;
        return values > limits.values ? 'values' : undefined;
      default:
        return undefined;
    }
  }

  return {
    scan(chunk) {
      for (let index = 0; index < chunk.length; index += 1) {
        if (inString) {
          index = skipString(chunk, index);
          continue;
        }
        const excess = count(chunk[index]);
        if (excess) return excess;
      }
      return undefined;
    },
  };
}
