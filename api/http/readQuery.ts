/** The query string of a request, held against its route's schema. */
import { LRUCache } from 'lru-cache';
import type { ApiContext } from './requestState.ts';
import type { Route } from './route.ts';
import { validate } from './validate.ts';

/** Per route: a client asks for the same few lists again and again. */
const MAX_KNOWN = 64;
const MAX_KNOWN_LENGTH = 256;

const known = new WeakMap<Route, LRUCache<string, object>>();

/**
 * Throws `invalid_request`. What was checked once is not checked again: the schemas of queries look at nothing but the
 * query. The result is frozen, as several requests may get the same. Bench `models`.
 */
export function readQuery(route: Route, ctx: Pick<ApiContext, 'querystring' | 'query'>): unknown {
  if (!route.query) return undefined;
  const text = ctx.querystring;
  let checked = known.get(route);
  if (checked === undefined) {
    checked = new LRUCache({ max: MAX_KNOWN });
    known.set(route, checked);
  }
  const before = checked.get(text);
  if (before !== undefined) return before;
  const query = Object.freeze(validate(route.query, { ...ctx.query })) as object;
  if (text.length <= MAX_KNOWN_LENGTH) checked.set(text, query);
  return query;
}
