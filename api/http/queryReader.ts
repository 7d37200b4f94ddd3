/** Checks the query string of a request against the schema of its route. */
import { LRUCache } from 'lru-cache';
import type { ApiContext } from './requestState.ts';
import type { Route } from './route.ts';
import { validate } from './validate.ts';

/** Entries per route: clients repeat the same few queries. */
const MAX_KNOWN = 64;
const MAX_KNOWN_LENGTH = 256;

export type QueryReader = (ctx: Pick<ApiContext, 'querystring' | 'query'>) => unknown;

/**
 * The reader throws `invalid_request`. What was checked once is not checked again: the schemas of queries look at nothing
 * but the query. The result is frozen, as several requests may get the same. Bench `models`.
 */
export function createQueryReader({ query: schema }: Route): QueryReader {
  if (!schema) return () => undefined;
  const checked = new LRUCache<string, object>({ max: MAX_KNOWN });
  return (ctx) => {
    const text = ctx.querystring;
    const before = checked.get(text);
    if (before !== undefined) return before;
    const query = Object.freeze(validate(schema, { ...ctx.query })) as object;
    if (text.length <= MAX_KNOWN_LENGTH) checked.set(text, query);
    return query;
  };
}
