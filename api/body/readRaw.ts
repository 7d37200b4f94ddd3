/** A body as it came: for those whose signature is over the very bytes. */
import type { IncomingMessage } from 'node:http';
import { FareboxError } from '../../domain/errors.ts';
import { takeChunks } from './bodyStream.ts';

const READ_TIMEOUT_MS = 10_000;

/** Throws `body_too_large`. */
export async function readRaw(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await takeChunks(request, { maxBytes, timeoutMs: READ_TIMEOUT_MS, tooLarge }, (chunk) =>
    chunks.push(chunk),
  );
  // Most arrive in one piece, which is nobody else's.
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

function tooLarge(): FareboxError {
  const message = 'Request body exceeds the maximum allowed size.';
  return new FareboxError({ code: 'body_too_large', message });
}
