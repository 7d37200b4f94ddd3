/** Outermost layer: gives the request its id, and writes one log line and one metric when its answer has ended. */
import type Koa from 'koa';
import { isBelowBasePath } from '../../../domain/basePaths.ts';
import type { Logger } from '../../../infra/log.ts';
import { keepLabelled } from '../../../infra/telemetry/labelled.ts';
import type { Metrics } from '../../../infra/telemetry/metrics.ts';
import { type RequestSpan, requestSpan } from '../../../infra/telemetry/spans.ts';
import { drainRequestBody } from '../../server/drainRequestBody.ts';
import type { InFlight } from '../../server/inFlight.ts';
import type { Receipts } from '../../server/receipts.ts';
import type { TurnGuard } from '../../server/turnGuard.ts';
import { type ApiContext, RequestState } from '../requestState.ts';

/** The client disconnected before the answer was complete. */
const CLIENT_CLOSED = 499;

export interface Observation {
  log: Logger;
  metrics: Metrics;
  inFlight: InFlight;
  receipts: Receipts;
  turnGuard: TurnGuard;
}

export function observe(observation: Observation): Koa.Middleware<RequestState> {
  const { inFlight, log, metrics, receipts, turnGuard } = observation;
  const report = createReport(observation);
  return async function observeRequest(ctx, next) {
    const state = new RequestState(log);
    ctx.state = state;
    const { res } = ctx;
    receipts.noteRequest(ctx.req.socket);
    res.setHeader('X-Request-ID', state.requestId);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    res.setHeader('Cache-Control', 'no-store');
    if (inFlight.draining) res.setHeader('Connection', 'close');
    metrics.requestsInFlight.inc();
    const answered = inFlight.enterResponse(res);
    // Requests of load balancers and Prometheus are not traced.
    const span = isBelowBasePath(ctx.path)
      ? requestSpan(state.requestId, { 'http.request.method': ctx.method })
      : undefined;
    res.once('close', () => {
      report(ctx, span);
      answered();
    });
    res.once('finish', () => drainRequestBody(ctx.req, turnGuard));
    const handled = inFlight.enter();
    try {
      await (span ? span.run(next) : next());
    } finally {
      handled();
    }
  };
}

function createReport({ log, metrics }: Observation) {
  const requests = keepLabelled(metrics.requests);
  const added = keepLabelled(metrics.added);
  return (ctx: ApiContext, span: RequestSpan | undefined): void => {
    const { state, res } = ctx;
    const seconds = (performance.now() - state.startedAt) / 1000;
    const status = res.writableFinished ? res.statusCode : CLIENT_CLOSED;
    metrics.requestsInFlight.dec();
    requests(ctx.method, state.route, String(status)).observe(seconds);
    if (state.answeredAt !== undefined) {
      added(state.route).observe((state.answeredAt - state.startedAt - state.waitedMs) / 1000);
    }
    const error = state.errorCode && { 'error.type': state.errorCode };
    span?.end(state.route, { 'http.response.status_code': status, ...error }, status >= 500);
    if (!log.isLevelEnabled('info')) return;
    log.info({
      requestId: state.requestId,
      method: ctx.method,
      route: state.route,
      status,
      ms: Math.round(seconds * 1e6) / 1000,
      ...(state.caller && { accountId: state.caller.accountId, keyId: state.caller.keyId }),
      ...(state.errorCode && { code: state.errorCode }),
    });
  };
}
