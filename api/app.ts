/** The HTTP application: the onion as a list, outermost layer first. */
import { Router, type RouterContext, type RouterMiddleware } from '@koa/router';
import Koa from 'koa';
import { pathsOf } from '../domain/basePaths.ts';
import { FareboxError } from '../domain/errors.ts';
import { buildVersion } from '../infra/config/buildVersion.ts';
import { createMonitorAccess } from '../infra/http/monitorAccess.ts';
import type { Metrics } from '../infra/telemetry/metrics.ts';
import type { Authentication } from './auth/authenticate.ts';
import { BodyReader } from './body/bodyReader.ts';
import type { Dependencies } from './dependencies.ts';
import { serveRoute } from './http/frame.ts';
import { addHealthRoutes, type Readiness } from './http/health.ts';
import { answerErrors } from './http/middleware/answerErrors.ts';
import { allowOrigins, answerPreflight } from './http/middleware/cors.ts';
import { observe } from './http/middleware/observe.ts';
import { requireHost } from './http/middleware/requireHost.ts';
import type { RequestState } from './http/requestState.ts';
import { createRespond } from './http/respond.ts';
import type { Route } from './http/route.ts';
import { addDocsRoutes } from './openapi/docsRoutes.ts';
import { callbackRoute } from './providerCallbacks/callbackRoute.ts';
import type { InFlight } from './server/inFlight.ts';
import { createReceipts } from './server/receipts.ts';
import type { TurnGuard } from './server/turnGuard.ts';

export interface AppOptions {
  dependencies: Dependencies;
  authentication: Authentication;
  inFlight: InFlight;
  turnGuard: TurnGuard;
  metrics: Metrics;
  readiness(): Promise<Readiness>;
  routes: readonly Route[];
}

export function createApp(options: AppOptions): Koa<RequestState> {
  const { dependencies, inFlight, metrics, turnGuard } = options;
  const receipts = createReceipts();
  const bodyReader = new BodyReader(turnGuard);
  const respond = createRespond({ aliases: dependencies.core.config.brand.aliases, inFlight, receipts });
  const app = new Koa<RequestState>({ proxy: false });
  // Errors are logged before they reach Koa's own handler.
  app.silent = true;
  app.use(observe({ log: dependencies.core.log, metrics, inFlight, receipts, turnGuard }));
  app.use(allowOrigins(dependencies.core.config));
  app.use(answerErrors(respond));
  app.use(requireHost);
  const served = [...options.routes, callbackRoute].map((route) => ({
    route,
    handler: serveRoute({ ...options, bodyReader, respond }, route),
  }));
  app.use(lookUp(served));
  app.use(createRouter(options, served).routes() as unknown as Koa.Middleware<RequestState>);
  app.use(refuseUnknown);
  return app;
}

/** The base paths (domain/basePaths.ts) as one pattern, so that each route is tried once. */
const BASE_PATTERN = '{/api}/v1';

interface ServedRoute {
  route: Route;
  handler: RouterMiddleware<RequestState>;
}

/** Finds fixed paths in a map. The router would try the patterns of all routes on each (bench `front`). */
function lookUp(served: readonly ServedRoute[]): Koa.Middleware<RequestState> {
  const handlers = new Map(
    served
      .filter(({ route }) => !route.path.includes('{'))
      .flatMap(({ route: { method, path }, handler }) => {
        return pathsOf(path).map((each): [string, typeof handler] => [`${method} ${each}`, handler]);
      }),
  );
  const noParams = Object.freeze({});
  return (ctx, next) => {
    const handler = handlers.get(`${ctx.method} ${ctx.path}`);
    if (!handler) return next();
    ctx.params = noParams;
    return handler(ctx as unknown as RouterContext<RequestState>, next);
  };
}

function createRouter(options: AppOptions, served: readonly ServedRoute[]): Router<RequestState> {
  const router = new Router<RequestState>({ sensitive: true });
  addHealthRoutes(router, {
    readiness: options.readiness,
    draining: () => options.inFlight.draining,
    mayMonitor: createMonitorAccess({
      token: options.dependencies.core.config.metricsToken,
      proxies: options.dependencies.limits.proxies,
    }),
    metrics: async () => {
      const { registry } = options.metrics;
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  });
  const { routes, dependencies } = options;
  addDocsRoutes(router, { routes, brand: dependencies.core.config.brand.name, version: buildVersion() });
  for (const { route, handler } of served) {
    router.register(patternOf(route), [route.method], handler);
  }
  return router;
}

function patternOf({ path, takesRestOfPath }: Route): string {
  const withRest = takesRestOfPath ? path.replace(/\{(\w+)\}$/, '*$1') : path;
  return `${BASE_PATTERN}${withRest.replace(/\{(\w+)\}/g, ':$1')}`;
}

/** Answers a request that no route took: a preflight, an unknown path, or a known one with another method. */
const refuseUnknown: Koa.Middleware<RequestState> = (ctx) => {
  const layers = (ctx as { matched?: { methods: string[] }[] }).matched ?? [];
  const methods = [...new Set(layers.flatMap((layer) => layer.methods))];
  if (methods.length === 0) {
    throw new FareboxError({ code: 'route_not_found', message: 'The requested resource does not exist.' });
  }
  if (answerPreflight(ctx, methods)) return;
  ctx.set('Allow', methods.join(', '));
  throw new FareboxError({
    code: 'method_not_allowed',
    message: `This resource only allows ${methods.join(', ')}.`,
  });
};
