/** Compresses whole answers with gzip or brotli, by the weights of the client (API-5). */
import { pipeline, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip, gzipSync } from 'node:zlib';

export interface CompressedBody {
  encoding: 'gzip' | 'br';
  bytes: Buffer;
}

/** Brotli quality; a higher one costs more time than the saved bytes are worth (API-6). */
const BROTLI_QUALITY = 4;
const GZIP_LEVEL = 4;
/** Up to this length a thread costs more than compressing at once. */
const QUICK_LENGTH = 8_192;

const gzipLater = promisify<Buffer | string, { level: number }, Buffer>(gzip);
const brotliLater = promisify<Buffer | string, { params: Record<number, number> }, Buffer>(brotliCompress);

/** Undefined: sent uncompressed. */
export async function compress(text: string, accepted: string | undefined): Promise<CompressedBody | undefined> {
  const encoding = chosen(accepted);
  if (encoding === undefined) return undefined;
  if (encoding === 'br') {
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
    };
    return { encoding, bytes: await brotliLater(text, { params }) };
  }
  const level = GZIP_LEVEL;
  const bytes = text.length <= QUICK_LENGTH ? gzipSync(text, { level }) : await gzipLater(text, { level });
  return { encoding, bytes };
}

/** The same for a streamed answer: the stream, and its headers. */
export function compressStream(
  source: Readable,
  accepted: string | undefined,
): { stream: Readable; headers: Record<string, string> } {
  const encoding = chosen(accepted);
  const Vary = 'Accept-Encoding';
  if (encoding === undefined) return { stream: source, headers: { Vary } };
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
  const packer = encoding === 'br' ? createBrotliCompress({ params }) : createGzip({ level: GZIP_LEVEL });
  // The reader of the packer gets the error of the source; a packer without a reader ends the source.
  const stream = pipeline(source, packer, () => undefined);
  return { stream, headers: { Vary, 'Content-Encoding': encoding } };
}

/** RFC 9110, 12.5.3. Of two with equal weight gzip is chosen: it costs less. */
function chosen(accepted: string | undefined): CompressedBody['encoding'] | undefined {
  if (accepted === undefined || accepted.length > 256) return undefined;
  const weights = new Map<string, number>();
  for (const item of accepted.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    weights.set(name, weight === undefined ? 1 : Number(weight));
  }
  const liked = (name: string) => weights.get(name) ?? weights.get('*') ?? 0;
  const gzipWeight = liked('gzip');
  const brotliWeight = liked('br');
  if (brotliWeight > gzipWeight) return 'br';
  return gzipWeight > 0 ? 'gzip' : undefined;
}
