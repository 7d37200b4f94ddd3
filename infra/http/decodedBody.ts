/** Reads foreign bodies piece by piece: decodes an unrequested encoding, and cuts a slow body. */
import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { BodyTooLarge } from './saveBody.ts';

const GRACE_MS = 5_000;
const MIN_BYTES_PER_SECOND = 10_000;

const DECODERS: Record<string, (() => NodeJS.ReadWriteStream) | undefined> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Reading throws when the body is too slow, or its encoded form exceeds the limit. */
export function plainBody(
  { headers, body }: Dispatcher.ResponseData,
  maxEncodedBytes: number,
  signal: AbortSignal,
): AsyncIterable<Buffer> {
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase();
  return decodedBody(paced(body, signal), { encoding, maxEncodedBytes });
}

/** The limit of the reader counts decoded bytes. */
export function decodedBody(
  body: AsyncIterable<Buffer>,
  options: { encoding: string; maxEncodedBytes: number },
): AsyncIterable<Buffer> {
  if (options.encoding === 'identity' || options.encoding === '') return body;
  const decoder = DECODERS[options.encoding]?.();
  if (decoder === undefined) throw new Error('content encoding not known');
  // The decoder may fail before it is read; the reader gets the error all the same.
  decoder.on('error', () => undefined);
  return Readable.from(capped(body, options.maxEncodedBytes), { objectMode: false })
    .on('error', (error) => (decoder as unknown as Readable).destroy(error))
    .pipe(decoder) as unknown as AsyncIterable<Buffer>;
}

/** An encoded body that decodes to nothing must end as well. */
async function* capped(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let received = 0;
  for await (const chunk of body) {
    received += chunk.length;
    if (received > maxBytes) throw new BodyTooLarge('encoded body');
    yield chunk;
  }
}

/**
 * Passes the chunks on. Throws when the average since the start is below the minimum after the grace time, so that no
 * sender holds a slot with a byte a second.
 */
async function* paced(body: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  const startedAt = performance.now();
  let received = 0;
  for await (const chunk of body) {
    signal.throwIfAborted();
    received += chunk.length;
    const elapsedMs = performance.now() - startedAt;
    if (elapsedMs > GRACE_MS && received < (elapsedMs / 1_000) * MIN_BYTES_PER_SECOND) {
      throw new Error('body too slow');
    }
    yield chunk;
  }
}
