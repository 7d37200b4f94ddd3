/**
 * Cross-origin requests (API-23): pages of the allowed origins may call the API from a browser and read its answers.
 * Credentials of the browser are never allowed: the API reads no cookie, and a page sends its key or sign-in itself.
 */
import type Koa from 'koa';
import { isBelowBasePath } from '../../../domain/basePaths.ts';
import type { Config } from '../../../infra/config/config.ts';
import type { ApiContext, RequestState } from '../requestState.ts';
import { OWN_PREFIX } from '../respond.ts';
import { EXPOSED_HEADERS } from './exposedHeaders.ts';

const ANY_ORIGIN = '*';
/** Paths of operators, which no page of another origin may call. */
const OPERATOR_PATH = /^(?:\/api)?\/v1\/operator(?:\/|$)/;
/** Browsers keep the answer to a preflight for a day at most. */
const PREFLIGHT_LIFE_S = 86_400;
/** Length of the list of request headers in a preflight; a longer list is not allowed. */
const MAX_ASKED_HEADERS_LENGTH = 4_096;

/** Sets the headers before the request is served, so that every error has them as well. */
export function allowOrigins({ cors, brand }: Pick<Config, 'cors' | 'brand'>): Koa.Middleware<RequestState> {
  const origins = new Set(cors.origins);
  const exposed = exposedHeaders(brand.aliases);
  return (ctx, next) => {
    if (origins.size === 0 || !isBelowBasePath(ctx.path) || OPERATOR_PATH.test(ctx.path)) return next();
    const { res } = ctx;
    const { origin } = ctx.req.headers;
    if (origins.has(ANY_ORIGIN)) res.setHeader('Access-Control-Allow-Origin', ANY_ORIGIN);
    else {
      // A cache must not give the answer for one origin to another.
      res.setHeader('Vary', 'Origin');
      if (origin === undefined || !origins.has(origin)) return next();
      res.setHeader('Access-Control-Allow-Origin', origin);
    }
    if (origin !== undefined) res.setHeader('Access-Control-Expose-Headers', exposed);
    return next();
  };
}

/** With the names that repeat `x-service-…` headers for the aliases of the brand. */
function exposedHeaders(aliases: readonly string[]): string {
  const own = EXPOSED_HEADERS.filter((name) => name.startsWith(OWN_PREFIX));
  const repeated = aliases.flatMap((alias) => own.map((name) => `x-${alias}-${name.slice(OWN_PREFIX.length)}`));
  return [...EXPOSED_HEADERS, ...repeated].join(', ');
}

/** Answers a preflight request for a path that has these methods. False: it is none, or its origin is not allowed. */
export function answerPreflight(ctx: ApiContext, methods: readonly string[]): boolean {
  const { headers } = ctx.req;
  const isPreflight = headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
  if (ctx.method !== 'OPTIONS' || !isPreflight || !ctx.res.hasHeader('Access-Control-Allow-Origin')) return false;
  const asked = headers['access-control-request-headers'] ?? '';
  ctx.status = 204;
  ctx.set('Access-Control-Allow-Methods', methods.join(', '));
  // Clients send headers that the API ignores, such as x-stainless-lang; refusing them would refuse the request.
  if (asked !== '' && asked.length <= MAX_ASKED_HEADERS_LENGTH) ctx.set('Access-Control-Allow-Headers', asked);
  ctx.set('Access-Control-Max-Age', String(PREFLIGHT_LIFE_S));
  return true;
}
