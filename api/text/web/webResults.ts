/**
 * Searches and reads pages, and writes the results for the model. The model is told of failures, which are not charged.
 */
import { FareboxError } from '../../../domain/errors.ts';
import type { LedgerPrice } from '../../../domain/ledger.ts';
import type { AddOn } from '../../../domain/text/addOns.ts';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import type { PageReader } from '../../../infra/http/pages/pageReader.ts';
import type { SearchProvider, SearchResult } from '../../../providers/search/searchProvider.ts';
import type { RouteRequest } from '../../http/route.ts';
import type { ChatBody } from '../chatBody.ts';
import type { Citation } from '../present.ts';
import { type FoundPage, pagesBlock, searchBlock } from './block.ts';

export interface WebResults {
  kind: 'search' | 'pages';
  /** System message for the model. */
  block: string;
  /** In the order of their numbers in the block and in the answer. */
  citations: Citation[];
  /** Delivered lookups, charged with the answer. */
  addOns: AddOn[];
  /** Remarks for the notes of the ledger entry. */
  remarks: string[];
}

type WebRequest = Pick<RouteRequest<ChatBody, unknown, 'buyer'>, 'body' | 'signal' | 'log' | 'waitFor' | 'share'>;

const MAX_RESULTS = 10;
const SEARCH_TIMEOUT_MS = 15_000;
const PAGES_TIMEOUT_MS = 30_000;
/** Length of an excerpt in the answer. */
const MAX_EXCERPT_LENGTH = 2_000;

/** Throws the signal's reason when nobody waits any more. */
export async function searchWeb(
  engine: SearchProvider,
  {
    query,
    tokens,
    price,
    body,
    signal,
    log,
    waitFor,
  }: WebRequest & {
    query: string;
    tokens: number;
    price: LedgerPrice;
  },
): Promise<WebResults> {
  const limits = { limit: MAX_RESULTS, signal: within(signal, SEARCH_TIMEOUT_MS) };
  const terms = { tokens, marked: body.service_parameters.enable_web_citations };
  try {
    const results = (await waitFor(engine.search(query, limits))).filter(isOnTheWeb);
    return {
      ...{ kind: 'search', block: searchBlock(results, terms), remarks: [] },
      citations: results.map(toCitation),
      addOns: [{ kind: 'web search', count: 1, price }],
    };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof UpstreamFailure) && !isTimeout(error)) throw error;
    log.warn({ err: error }, 'the search engine did not answer');
    const block = searchBlock(undefined, terms);
    return { kind: 'search', block, citations: [], addOns: [], remarks: ['web search failed: not charged'] };
  }
}

/** A search engine is foreign: its addresses can be anything. */
function isOnTheWeb({ url }: SearchResult): boolean {
  return /^https?:\/\//i.test(url) && URL.canParse(url) && url.length <= 2_048;
}

function toCitation({ title, url, content, date }: SearchResult): Citation {
  const dated = date === '' ? {} : { date: date.slice(0, 64) };
  return { title: title.slice(0, 300), url, content: content.slice(0, MAX_EXCERPT_LENGTH), ...dated };
}

interface PageReading extends WebRequest {
  addresses: readonly string[];
  /** Number of addresses beyond those. */
  passedOver: number;
  tokens: number;
  /** Price of a page. */
  price: LedgerPrice;
}

/** Throws the signal's reason when nobody waits any more. */
export async function readPages(reader: PageReader, reading: PageReading): Promise<WebResults> {
  const { addresses, passedOver, tokens, price, body, signal, waitFor } = reading;
  const deadline = within(signal, PAGES_TIMEOUT_MS);
  const pages = await waitFor(Promise.all(addresses.map((url) => readPage(reader, url, { deadline, reading }))));
  const read = pages.filter((page) => page.content !== undefined);
  const failed = pages.length - read.length;
  const marked = body.service_parameters.enable_web_citations;
  return {
    kind: 'pages',
    block: pagesBlock(pages, { tokens, marked, passedOver }),
    citations: read.map(({ title, url, content = '' }) => ({
      ...{ title: title.slice(0, 300), url, content: content.slice(0, MAX_EXCERPT_LENGTH) },
    })),
    addOns: [{ kind: 'page read', count: read.length, price }],
    remarks: failed === 0 ? [] : [`pages that could not be read, not charged: ${failed}`],
  };
}

async function readPage(
  reader: PageReader,
  url: string,
  { deadline, reading: { signal, log, share } }: { deadline: AbortSignal; reading: PageReading },
): Promise<FoundPage> {
  try {
    const read = () => reader.read(url, { signal: deadline, share });
    const { content, title = '' } = await share.inSlot('pages', read, deadline);
    return { url, content, title, failure: '' };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const known = error instanceof FareboxError;
    if (!known && !isTimeout(error)) throw error;
    log.info({ err: error }, 'a page could not be read for a conversation');
    return { url, content: undefined, title: '', failure: known ? error.message : 'It took too long.' };
  }
}

function within(signal: AbortSignal, timeoutMs: number): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}
