/** RFC 9112, 3.2: an HTTP/1.1 request without Host is refused. The value of Host is not used. */
import type Koa from 'koa';
import { FareboxError } from '../../../domain/errors.ts';
import type { RequestState } from '../requestState.ts';

export const requireHost: Koa.Middleware<RequestState> = (ctx, next) => {
  if (ctx.req.headers.host === undefined && ctx.req.httpVersion === '1.1') {
    throw new FareboxError({ code: 'invalid_request', message: 'The Host header is required.' });
  }
  return next();
};
