/** Undoes a content encoding that nobody asked for, a piece at a time: the reader's cap counts decoded bytes. */
import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { BodyTooLarge } from './saveBody.ts';

const DECODERS: Record<string, (() => NodeJS.ReadWriteStream) | undefined> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

export function decodedBody(
  body: AsyncIterable<Buffer>,
  options: { encoding: string; maxEncodedBytes: number },
): AsyncIterable<Buffer> {
  if (options.encoding === 'identity' || options.encoding === '') return body;
  const decoder = DECODERS[options.encoding]?.();
  if (decoder === undefined) throw new Error('content encoding not known');
  // It may fail before anybody reads from it; whoever reads then hears of it all the same.
  decoder.on('error', () => undefined);
  return Readable.from(capped(body, options.maxEncodedBytes), { objectMode: false })
    .on('error', (error) => (decoder as unknown as Readable).destroy(error))
    .pipe(decoder) as unknown as AsyncIterable<Buffer>;
}

/** An encoded body that decodes to nothing must end too. */
async function* capped(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let received = 0;
  for await (const chunk of body) {
    received += chunk.length;
    if (received > maxBytes) throw new BodyTooLarge('encoded body');
    yield chunk;
  }
}
