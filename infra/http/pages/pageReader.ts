/**
 * Reads a web page as markdown (TEXT-30): URL rules, robots.txt, guarded fetch, bot protections, and the conversion in
 * a child process that is killed above a limit of time or memory.
 */
import { FareboxError } from '../../../domain/errors.ts';
import { type ChildPool, createChildPool } from '../../../engines/child/childPool.ts';
import { shippedChild } from '../../../engines/child/keptChild.ts';
import type { ConvertAnswer, PageBytes } from '../../../engines/pages/convertPage.ts';
import type { ReservedBytes } from '../../byteBudget.ts';
import { createSemaphore, type Semaphore, type SemaphoreOptions } from '../../semaphore.ts';
import { tooBusy } from '../../tooBusy.ts';
import {
  describeFailure,
  type FetchGuard,
  type GuardedFetchOptions,
  openFetchGuard,
  settleFailure,
} from '../guardedGet.ts';
import { type FetchedPage, guardedPage } from '../guardedPage.ts';
import { BodyTooLarge } from '../saveBody.ts';
import { botWall } from './botWall.ts';
import { checkPageUrl, refuseBlockedHost } from './pageUrl.ts';
import { createRobotsCheck, type RobotsCheck } from './robotsCheck.ts';

export interface PageReaderOptions extends GuardedFetchOptions {
  /** For page and redirects together; 30 s by default. */
  fetchTimeoutMs?: number;
  /** For the conversion alone; 15 s by default. */
  convertTimeoutMs?: number;
  /** Pages that are converted at the same time. */
  maxChildren?: number;
  /** Limits of the pages that are fetched or converted at the same time, and of the waiting ones. */
  turns?: Partial<SemaphoreOptions>;
  /** The compiled child; the shipped one by default. */
  childPath?: string;
}

export interface ReadPage {
  /** After redirects. */
  url: string;
  /** Markdown. */
  content: string;
  title: string | undefined;
}

/** Share of the account that asks for the page: of fetched bytes and of the children that convert. */
interface PageShare extends Pick<ReservedBytes, 'take'> {
  inSlot<T>(kind: 'pages' | 'conversions', work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

export interface PageReader {
  /**
   * Throws FareboxError: `invalid_source` for a URL that is not allowed or leads to no text, `blocked_source` where the
   * site refuses automated readers, `unavailable` where too many pages are being read, `rate_limited` where the share
   * is exhausted, otherwise `page_failed`. Throws the signal's reason when it is aborted.
   */
  read(url: string, options?: { signal?: AbortSignal; share?: PageShare }): Promise<ReadPage>;
  close(): void;
}

const MAX_PAGE_BYTES = 10 * 1024 * 1024;
const FETCH_TIMEOUT_MS = 30_000;
const CONVERT_TIMEOUT_MS = 15_000;
const HEAP_MB = 768;
const CPU_SECONDS = 600;
const PAGES_PER_CHILD = 200;
/** Pages that are converted at the same time. */
export const PAGE_CHILDREN = 2;
/** A page is up to 10 MB in memory from its first byte until it is converted. */
export const PAGES_AT_ONCE = 16;
const TURNS: SemaphoreOptions = { atOnce: PAGES_AT_ONCE, maxWaiting: 200, maxWaitMs: 10_000 };
const busy = tooBusy('pages are being read', 5);

interface Reader {
  guard: FetchGuard;
  turns: Semaphore;
  mayRead: RobotsCheck;
  pool: ChildPool<PageBytes, ConvertAnswer>;
  fetchTimeoutMs: number;
}

export function createPageReader(options: PageReaderOptions): PageReader {
  const { childPath = shippedChild('engines/pages/convertChild'), maxChildren = PAGE_CHILDREN } = options;
  const guard = openFetchGuard(options);
  const turns = { ...TURNS, ...options.turns };
  const reader: Reader = {
    guard,
    turns: createSemaphore(turns),
    mayRead: createRobotsCheck(guard),
    pool: createChildPool({
      ...{ path: childPath, heapMb: HEAP_MB, cpuSeconds: CPU_SECONDS, name: 'page' },
      ...{ maxChildren, filesPerChild: PAGES_PER_CHILD, maxWaiting: turns.atOnce },
      timeoutMs: options.convertTimeoutMs ?? CONVERT_TIMEOUT_MS,
    }),
    fetchTimeoutMs: options.fetchTimeoutMs ?? FETCH_TIMEOUT_MS,
  };
  return {
    async read(url, { signal = new AbortController().signal, share } = {}) {
      const order = { url: checkPageUrl(url, guard.hosts), signal, share };
      return await reader.turns.run(() => readPage(reader, order), signal).catch(busy);
    },
    close: reader.pool.close,
  };
}

interface PageOrder {
  url: URL;
  signal: AbortSignal;
  share: PageShare | undefined;
}

async function readPage(reader: Reader, order: PageOrder): Promise<ReadPage> {
  const page = await fetchPage(reader, order);
  refuseWall(page);
  if (page.status !== 200 && page.status !== 203) {
    throw failed(`The page could not be read: it answered with status ${page.status}.`);
  }
  const { markdown, title } = await convert(reader, page, order);
  refuseWall(page, markdown);
  return { url: page.url.href, content: markdown, title };
}

async function fetchPage(reader: Reader, { url, signal, share }: PageOrder): Promise<FetchedPage> {
  const startedAt = performance.now();
  try {
    return await guardedPage(reader.guard, url.href, {
      maxBytes: MAX_PAGE_BYTES,
      timeoutMs: reader.fetchTimeoutMs,
      signal,
      noteBytes: share?.take,
      mayVisit: async (hop, running) => {
        refuseBlockedHost(hop);
        await reader.mayRead(hop, running);
      },
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof FareboxError) throw error;
    if (error instanceof BodyTooLarge) throw failed('The page is larger than 10 MB.');
    // A refused private address and a failed connection look alike and take the same time (FETCH-5).
    await settleFailure(reader.guard, startedAt);
    throw failed('The page could not be fetched.', describeFailure(error));
  }
}

function refuseWall(page: FetchedPage, text?: string): void {
  const wall = botWall(page, text);
  if (wall === undefined) return;
  throw new FareboxError({
    code: 'blocked_source',
    message: 'The site does not allow automated access. A bot protection answered instead of the page.',
    internal: `${wall}, status ${page.status}`,
  });
}

async function convert(reader: Reader, page: FetchedPage, { signal, share }: PageOrder) {
  const type = page.headers['content-type'];
  const contentType = typeof type === 'string' ? type : undefined;
  const ask = () => reader.pool.ask({ body: page.body, contentType, url: page.url.href }, signal);
  const answer = await (share ? share.inSlot('conversions', ask, signal) : ask());
  const conversion = answer?.reply;
  switch (conversion?.status) {
    case 'done':
      return conversion;
    case 'empty':
      refuseWall(page, '');
      throw failed('The page is empty.');
    case 'unsupported':
      throw new FareboxError({
        code: 'invalid_source',
        message: `The url leads to ${conversion.type}, not to a page of text.`,
      });
    case 'failed':
      throw failed('The page is too complex to be read.', conversion.failed);
    case undefined:
      throw failed('The page is too complex to be read.', 'the child took too long or ended');
  }
}

function failed(message: string, internal?: string): FareboxError {
  return new FareboxError({ code: 'page_failed', message, ...(internal === undefined ? {} : { internal }) });
}
