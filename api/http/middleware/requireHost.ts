/** RFC 9112, 3.2: a request of HTTP/1.1 without Host is refused. What Host says is used for nothing. */
import type Koa from 'koa';
import { FareboxError } from '../../../domain/errors.ts';
import type { RequestState } from '../requestState.ts';

export const requireHost: Koa.Middleware<RequestState> = (ctx, next) => {
  if (ctx.req.headers.host === undefined && ctx.req.httpVersion === '1.1') {
    throw new FareboxError({ code: 'invalid_request', message: 'The Host header is required.' });
  }
  return next();
};
