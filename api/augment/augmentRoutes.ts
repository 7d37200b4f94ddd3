/** POST /augment/scrape, /augment/search and /augment/text-parser (TEXT-30). */

import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { FareboxError } from '../../domain/errors.ts';
import type { Config } from '../../infra/config/config.ts';
import type { Dependencies } from '../dependencies.ts';
import { json, stream } from '../http/answer.ts';
import { invalid } from '../http/invalid.ts';
import { limitRoute } from '../http/limitRoute.ts';
import { defineRoute } from '../http/route.ts';
import { type Purchase, purchaseAnswer } from '../paid/purchase.ts';
import { readWithinBudget } from '../paid/readings.ts';
import { AUGMENT_DESCRIPTIONS } from './openapi.ts';
import { parserFields, scrapeBody, searchBody } from './schema.ts';

const SMALL_JSON_BYTES = 64 * 1024;
const MAX_FILE_BYTES = 25 * 1024 * 1024;
const PER_MINUTE = 20;
const DEADLINE_MS = 90_000;
const TTL_MS = 180_000;
/** Published estimate of tokens (TEXT-32). */
const LETTERS_PER_TOKEN = 3.2;

const UNITS = { scrape: 'page', search: 'search', 'text-parser': 'document' };
type Sold = keyof typeof UNITS;

function purchaseOf({ prices }: Config, sold: Sold, requestId: string): Purchase {
  const price = sold === 'search' ? prices.search : prices.scrape;
  const sku = `augment-${sold}`;
  const snapshot = {
    ...{ sku, modelId: sku, provider: sold === 'search' ? 'search' : 'local', requestId },
    ...{ unit: UNITS[sold], units: '1', pricePerUnitUsd: price.usd.toString(), notes: 'API Inference' },
  };
  return { price, snapshot, ttlMs: TTL_MS };
}

/** Limit of an account, over all its keys: these routes send requests to other hosts. */
async function limitPerMinute(
  { limits: { calls: limits } }: Dependencies,
  accountId: string,
  path: string,
): Promise<void> {
  const perMinute = limits.overrideOf(accountId).requestsPerMinute ?? PER_MINUTE;
  await limitRoute(limits, { accountId, path, perMinute, words: '' });
}

export const scrapeRoute = defineRoute({
  method: 'POST',
  path: '/augment/scrape',
  access: 'buyer',
  body: { json: { schema: scrapeBody, maxBytes: SMALL_JSON_BYTES } },
  fixedPrice: ({ prices }) => prices.scrape,
  deadlineMs: DEADLINE_MS,
  describes: AUGMENT_DESCRIPTIONS.scrape,
  async handler(dependencies, request) {
    const { body, caller, signal } = request;
    await limitPerMinute(dependencies, caller.accountId, '/augment/scrape');
    return await purchaseAnswer(dependencies, request, {
      purchase: purchaseOf(dependencies.core.config, 'scrape', request.requestId),
      settles: 'before the answer',
      work: async () => {
        const { share } = request;
        const read = () => dependencies.providers.pages.read(body.url, { signal, share });
        const { content } = await request.waitFor(share.inSlot('pages', read, signal));
        return { ...json({ url: body.url, content, format: 'markdown' }), compressible: true };
      },
    });
  },
});

export const searchRoute = defineRoute({
  method: 'POST',
  path: '/augment/search',
  access: 'buyer',
  body: { json: { schema: searchBody, maxBytes: SMALL_JSON_BYTES } },
  fixedPrice: ({ prices }) => prices.search,
  deadlineMs: DEADLINE_MS,
  describes: AUGMENT_DESCRIPTIONS.search,
  async handler(dependencies, request) {
    const { search } = dependencies.providers;
    const { body, caller, signal } = request;
    await limitPerMinute(dependencies, caller.accountId, '/augment/search');
    if (!search || body.search_provider === 'google') {
      const message = `Search by ${body.search_provider} is not configured on this service.`;
      throw new FareboxError({ code: 'unsupported_feature', message });
    }
    return await purchaseAnswer(dependencies, request, {
      purchase: purchaseOf(dependencies.core.config, 'search', request.requestId),
      settles: 'at its first byte',
      work: async () => {
        const { query, limit } = body;
        const results = await request.waitFor(search.search(query, { limit, signal }));
        return { ...json({ query, results }), compressible: true };
      },
    });
  },
});

export const parserRoute = defineRoute({
  method: 'POST',
  path: '/augment/text-parser',
  access: 'buyer',
  body: { multipart: { fields: parserFields, maxFileBytes: MAX_FILE_BYTES } },
  fixedPrice: ({ prices }) => prices.scrape,
  deadlineMs: DEADLINE_MS,
  describes: AUGMENT_DESCRIPTIONS.parse,
  async handler(dependencies, request) {
    const { body, caller, file, signal } = request;
    if (!file) throw invalid('file', 'Required');
    return await purchaseAnswer(dependencies, request, {
      purchase: purchaseOf(dependencies.core.config, 'text-parser', request.requestId),
      settles: 'before the answer',
      work: async () => {
        const bytes = 'bytes' in file.content ? file.content.bytes : await readFile(file.content.path);
        const given = { bytes, claimedType: file.claimedContentType };
        const reading = await readWithinBudget(dependencies, caller.accountId, () =>
          request.share.inSlot('documents', () => dependencies.providers.documents.read(given, { signal }), signal),
        );
        if (reading.kind === 'image') {
          throw new FareboxError({
            code: 'invalid_document',
            message: 'The file is a picture: it has no text.',
          });
        }
        const { text } = reading;
        if (body.response_format === 'text') {
          return stream({ stream: Readable.from([text]), contentType: 'text/plain; charset=utf-8' });
        }
        const answer = json({ text, tokens: Math.ceil(text.length / LETTERS_PER_TOKEN) });
        return { ...answer, compressible: true };
      },
    });
  },
});
