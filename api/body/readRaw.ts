/** A body as it came: for those whose signature is over the very bytes. */
import type { IncomingMessage } from 'node:http';
import { FareboxError } from '../../domain/errors.ts';
import type { Holding } from '../../infra/byteBudget.ts';
import { BodyBuffer } from './bodyBuffer.ts';
import { takeChunks } from './bodyStream.ts';

const READ_TIMEOUT_MS = 10_000;

/** Throws `body_too_large`, and `unavailable` where the process holds too many bytes of bodies. */
export async function readRaw(
  request: IncomingMessage,
  { maxBytes, holding }: { maxBytes: number; holding: Holding },
): Promise<Buffer> {
  const body = new BodyBuffer({ maxBytes, holding });
  await takeChunks(request, { maxBytes, timeoutMs: READ_TIMEOUT_MS, tooLarge }, (chunk) =>
    body.append(chunk),
  );
  return body.bytes();
}

function tooLarge(): FareboxError {
  const message = 'Request body exceeds the maximum allowed size.';
  return new FareboxError({ code: 'body_too_large', message });
}
