/**
 * Web lookups of a conversation before a model answers (TEXT-12): a search, or the pages that the last message names,
 * which replace the search. Their maximum cost and their maximum addition to the prompt are known before anything is
 * asked.
 */
import type { TextModel } from '../../../domain/catalogue/model.ts';
import { FareboxError } from '../../../domain/errors.ts';
import type { AddOn } from '../../../domain/text/addOns.ts';
import { TOKENS_PER_MESSAGE } from '../../../domain/text/promptSize.ts';
import type { Dependencies } from '../../dependencies.ts';
import { limitRoute } from '../../http/limitRoute.ts';
import type { RouteRequest } from '../../http/route.ts';
import type { ChatBody } from '../chatBody.ts';
import { addressesIn, isAboutThePresent, lastUserText, searchQuery } from './question.ts';
import { readPages, searchWeb, type WebResults } from './webResults.ts';

export interface WebLookup {
  /** Highest cost. */
  addOns: readonly AddOn[];
  /** Highest number of tokens added to the prompt. */
  promptTokens: number;
  /** Whether hosts of the client's choice are visited. */
  visits: boolean;
  /** Runs once: models that are tried after another share the results. */
  results(): Promise<WebResults>;
}

/** Published limit (TEXT-12). */
const MAX_PAGES = 5;
const TOKENS_OF_SEARCH = 4_000;
const TOKENS_OF_PAGE = 8_000;

type LookupDependencies = Pick<Dependencies, 'core' | 'providers'>;
type LookupRequest = Pick<RouteRequest<ChatBody, unknown, 'buyer'>, 'body' | 'signal' | 'log' | 'waitFor' | 'share'>;

/** Undefined: no lookup. `model`: the first to be tried, whose context bounds the text. */
export function planWebLookup(
  tools: LookupDependencies,
  request: LookupRequest,
  { spec }: TextModel,
): WebLookup | undefined {
  const { body } = request;
  const { enable_web_scraping: scraping, enable_web_search: search } = body.service_parameters;
  if (!scraping && search === 'off') return undefined;
  const { signal, log, waitFor, share } = request;
  const asking = { body, signal, log, waitFor, share };
  const said = lastUserText(body);
  const { availableContextTokens: context } = spec;
  const addresses = scraping ? addressesIn(said) : [];
  if (addresses.length > 0) {
    const read = addresses.slice(0, MAX_PAGES);
    const tokens = Math.min(TOKENS_OF_PAGE * read.length, Math.floor(context / 2));
    const job = { ...asking, addresses: read, passedOver: addresses.length - read.length, tokens };
    const { scrape: price } = tools.core.config.prices;
    return createLookup([{ kind: 'page read', count: read.length, price }], tokens, () =>
      readPages(tools.providers.pages, { ...job, price }),
    );
  }
  const engine = tools.providers.search;
  const query = search === 'on' || (search === 'auto' && isAboutThePresent(said)) ? searchQuery(said) : '';
  if (query === '' || !engine) return undefined;
  const tokens = Math.min(TOKENS_OF_SEARCH, Math.floor(context / 4));
  const { search: price } = tools.core.config.prices;
  return createLookup([{ kind: 'web search', count: 1, price }], tokens, () =>
    searchWeb(engine, { ...asking, query, tokens, price }),
  );
}

function createLookup(addOns: AddOn[], tokens: number, go: () => Promise<WebResults>): WebLookup {
  let going: Promise<WebResults> | undefined;
  return {
    addOns,
    visits: addOns.some(({ kind }) => kind === 'page read'),
    promptTokens: tokens + TOKENS_PER_MESSAGE,
    results() {
      going ??= go();
      return going;
    },
  };
}

/** Limit of conversations with pages per account: pages that cannot be read are free, but cost their hosts. */
const VISITS_PER_MINUTE = 60;

/** Throws FareboxError `rate_limited`. */
export async function limitPageFetches(
  { limits: { calls: limits } }: Pick<Dependencies, 'limits'>,
  accountId: string,
  lookup: WebLookup | undefined,
): Promise<void> {
  if (!lookup?.visits) return;
  const perMinute = limits.overrideOf(accountId).requestsPerMinute ?? VISITS_PER_MINUTE;
  const words = ' with pages of the web';
  await limitRoute(limits, { accountId, path: '/chat/completions with pages', perMinute, words });
}

/** A lookup that this deployment cannot do is refused by name, never ignored. */
export function refuseWithoutEngine({ providers: { search } }: Pick<Dependencies, 'providers'>, body: ChatBody): void {
  if (search || body.service_parameters.enable_web_search === 'off') return;
  const message = 'enable_web_search is not configured on this service';
  throw new FareboxError({
    code: 'unsupported_feature',
    message,
    fields: { service_parameters: [message] },
  });
}
