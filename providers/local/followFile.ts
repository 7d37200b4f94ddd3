import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const PIECE_BYTES = 65_536;
/** Polling interval. */
const PAUSE_MS = 20;

export interface GrowingFile {
  /** Resolves when the file is complete; rejects if it never will be. */
  whole: Promise<void>;
  /** Called when reading ends. */
  stop(): void;
}

/** Yields the bytes of a file while it is being written. Throws the error of `whole`. */
export async function* followFile(path: string, { whole, stop }: GrowingFile): AsyncGenerator<Buffer, void> {
  let isWhole = false;
  const ending = whole.then(() => {
    isWhole = true;
  });
  ending.catch(() => undefined);
  try {
    for (let at = 0; ; ) {
      // Checked before the read, so that bytes written in between are read in the next round.
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

/** Opens the file for each read, so that an abandoned reader leaves nothing open. */
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
