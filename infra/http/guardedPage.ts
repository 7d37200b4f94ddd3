/** Reads a page of a user's URL into memory, with the headers of a page reader. */
import type { Dispatcher } from 'undici';
import { plainBody } from './decodedBody.ts';
import { type FetchGuard, guardedGet } from './guardedGet.ts';
import { BodyTooLarge } from './saveBody.ts';

export interface FetchedPage {
  /** After redirects. */
  url: URL;
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  /** Body of any status; decoded, at most `maxBytes`. */
  body: Buffer;
}

export interface PageGet {
  /** Limit of the decoded body; a larger one is a `BodyTooLarge`. */
  maxBytes: number;
  /** Cuts a larger body. */
  cut?: boolean;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Counts decoded bytes as they arrive; throws when there are too many. */
  noteBytes?: ((bytes: number) => void) | undefined;
  mayVisit?: (url: URL, signal: AbortSignal) => Promise<void>;
}

/** A true user agent: sites can refuse it in robots.txt or directly. */
export const PAGE_READER_NAME = 'Farebox';
const HEADERS = {
  'user-agent': PAGE_READER_NAME,
  accept: 'text/html, application/xhtml+xml, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1',
  'accept-encoding': 'gzip, deflate, br',
};

/** Margin for a body to be cut: bytes may arrive faster than they are read. */
const CUT_SLACK = 8;

/** Throws plain errors with the reason, for the log. */
export function guardedPage(guard: FetchGuard, url: string, get: PageGet): Promise<FetchedPage> {
  const { maxBytes, cut, timeoutMs, signal, mayVisit } = get;
  return guardedGet(guard, url, {
    headers: HEADERS,
    maxWireBytes: cut ? maxBytes * CUT_SLACK : maxBytes,
    timeoutMs,
    signal,
    ...(mayVisit === undefined ? {} : { mayVisit }),
    receive: async (response, finalUrl, running) => ({
      url: finalUrl,
      status: response.statusCode,
      headers: response.headers,
      body: await readBody(response, get, running),
    }),
  });
}

async function readBody(
  response: Dispatcher.ResponseData,
  { maxBytes, cut, noteBytes }: PageGet,
  signal: AbortSignal,
): Promise<Buffer> {
  const announced = Number(response.headers['content-length'] ?? 0);
  if (announced > maxBytes && !cut) throw new BodyTooLarge('announced');
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  try {
    for await (const chunk of plainBody(response, maxBytes, signal)) {
      noteBytes?.(chunk.length);
      chunks.push(chunk);
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw new BodyTooLarge(`more than ${maxBytes} bytes`);
    }
  } catch (error) {
    if (!cut || !(error instanceof BodyTooLarge)) throw error;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}
