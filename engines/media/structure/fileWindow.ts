/** Reads a file of any size in small pieces: two gigabytes take a few thousand reads and hardly any memory. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

export interface FileWindow {
  size: number;
  /** Shorter at the end of the file. Throws RangeError above `MAX_PIECE_BYTES`. Valid until the next call. */
  bytes(at: number, length: number): Buffer;
}

/** Far above any table of a video of half an hour. */
export const MAX_PIECE_BYTES = 32 * 1024 * 1024;
/** Box headers are usually tens of kilobytes apart, so a larger window would be wasted. */
const WINDOW_BYTES = 16 * 1024;

export function withFileWindow<T>(path: string, read: (file: FileWindow) => T): T {
  const descriptor = openSync(path, 'r');
  try {
    return read(windowOf(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

function windowOf(descriptor: number): FileWindow {
  const window = Buffer.alloc(WINDOW_BYTES);
  let start = 0;
  let filled = 0;
  return {
    size: fstatSync(descriptor).size,
    bytes(at, length) {
      if (length > MAX_PIECE_BYTES) throw new RangeError(`a piece of ${length} bytes`);
      if (length > WINDOW_BYTES) return readAt(descriptor, Buffer.alloc(length), at);
      if (at < start || at + length > start + filled) {
        filled = readAt(descriptor, window, at).length;
        start = at;
      }
      return window.subarray(at - start, Math.min(filled, at - start + length));
    },
  };
}

function readAt(descriptor: number, target: Buffer, at: number): Buffer {
  let read = 0;
  while (read < target.length) {
    const more = readSync(descriptor, target, read, target.length - read, at + read);
    if (more === 0) break;
    read += more;
  }
  return target.subarray(0, read);
}
