import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const PIECE_BYTES = 65_536;
/** How soon after it was written a byte is read. */
const PAUSE_MS = 20;

export interface GrowingFile {
  /** Resolves when it is written to its end, and rejects when it never will be. */
  whole: Promise<void>;
  /** Called when nobody reads any more. */
  stop(): void;
}

/** The bytes of a file that is still being written, as they come. Throws what `whole` rejects with. */
export async function* followFile(path: string, { whole, stop }: GrowingFile): AsyncGenerator<Buffer, void> {
  let isWhole = false;
  const ending = whole.then(() => {
    isWhole = true;
  });
  ending.catch(() => undefined);
  try {
    for (let at = 0; ; ) {
      // Asked before the read: what is written in between is read in the next round.
      const isLast = isWhole;
      const piece = await pieceAt(path, at);
      at += piece.length;
      if (piece.length > 0) yield piece;
      else if (isLast) return;
      else await Promise.race([ending, sleep(PAUSE_MS)]);
    }
  } finally {
    stop();
  }
}

/** Opened each time: a reader who never comes back leaves nothing open. */
async function pieceAt(path: string, at: number): Promise<Buffer> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return Buffer.alloc(0);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, at);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
