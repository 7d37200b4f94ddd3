/** Turns every error into a documented body; the details go to the log. */
import type Koa from 'koa';
import type { FareboxError } from '../../../domain/errors.ts';
import { errorAnswer, errorStatus, toFareboxError } from '../errors.ts';
import type { RequestState } from '../requestState.ts';
import type { Respond } from '../respond.ts';

export function answerErrors(respond: Respond): Koa.Middleware<RequestState> {
  return async function answerError(ctx, next) {
    try {
      await next();
    } catch (thrown) {
      const error = toFareboxError(thrown);
      ctx.state.errorCode = error.code;
      logError(ctx.state, error);
      // A partial answer cannot be withdrawn: the connection ends, so that no client takes it for complete.
      if (ctx.res.headersSent) ctx.res.destroy();
      else await respond(ctx, errorAnswer(error));
    }
  };
}

function logError(state: RequestState, error: FareboxError): void {
  const status = errorStatus(error.code);
  if (status >= 500) state.log.error({ err: error, route: state.route }, 'request failed');
  else if (error.internal !== undefined || error.cause !== undefined)
    state.log.debug({ err: error, route: state.route }, 'request refused');
}
