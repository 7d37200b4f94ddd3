/** Streams a response body to a new file while it counts and hashes, never holding more than a few chunks. */
import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';

export interface SavedBody {
  sizeBytes: number;
  sha256: string;
}

/** Thrown when a body exceeds its limit. */
export class BodyTooLarge extends Error {}

/** The file exists afterwards only if it is complete. */
export async function saveBody(
  body: AsyncIterable<Uint8Array>,
  target: { path: string; maxBytes: number; noteBytes?: ((bytes: number) => void) | undefined },
): Promise<SavedBody> {
  const file = await open(target.path, 'wx', 0o600);
  const hash = createHash('sha256');
  let sizeBytes = 0;
  let complete = false;
  try {
    for await (const chunk of body) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > target.maxBytes) throw new BodyTooLarge(`more than ${target.maxBytes} bytes`);
      target.noteBytes?.(chunk.byteLength);
      hash.update(chunk);
      await file.appendFile(chunk);
    }
    complete = true;
    return { sizeBytes, sha256: hash.digest('hex') };
  } finally {
    await file.close();
    if (!complete) await rm(target.path, { force: true });
  }
}
