/**
 * Both sides of the front-door benchmark, each in its own process: `product` is the whole application with an empty
 * route, `floor` a bare Koa route with the same answer.
 */
import { Router } from '@koa/router';
import Koa from 'koa';
import { z } from 'zod';
import { createApp } from '../../api/app.ts';
import { json } from '../../api/http/answer.ts';
import { createReadiness } from '../../api/http/health.ts';
import { defineRoute } from '../../api/http/route.ts';
import { openDependencies } from '../../api/openDependencies.ts';
import { createInFlight } from '../../api/server/inFlight.ts';
import { listen } from '../../api/server/listen.ts';
import { TurnGuard } from '../../api/server/turnGuard.ts';
import { BUILT_IN_MODELS, createCatalogue } from '../../domain/catalogue/catalogue.ts';
import type { Model } from '../../domain/catalogue/model.ts';
import { type Config, loadConfig } from '../../infra/config/config.ts';
import { createLogger } from '../../infra/log.ts';
import { createMetrics } from '../../infra/telemetry/metrics.ts';
import { PROVIDERS } from '../../providers/registry.ts';

const ANSWER = { ok: true };
const PLENTY = { requestsPerMinute: 1e9, tokensPerMinute: 1e12, failedPer30s: 1e9 };

const TEXT_MODELS = BUILT_IN_MODELS.filter((model) => model.kind === 'text')
  .slice(0, 1)
  .map((model): Model => ({ ...model, id: 'bench-text', size: 'XS' }));

const loaded = loadConfig(PROVIDERS);
const { host, port } = loaded;
if (process.env.BENCH_SIDE === 'floor') {
  const router = new Router();
  router.post('/api/v1/empty', (context) => {
    context.body = ANSWER;
  });
  new Koa().use(router.routes()).listen(port, host, () => console.log('floor ready'));
} else {
  await serveProduct();
  console.log('floor ready');
}

/** Applies every limit of a text model: failures, requests and tokens. */
async function serveProduct(): Promise<void> {
  const config: Config = { ...loaded, modelCatalogue: createCatalogue(TEXT_MODELS) };
  const log = createLogger({ level: config.logLevel, name: 'api' });
  const opened = await openDependencies(config, log);
  opened.dependencies.limits.calls.overrideOf = () => PLENTY;
  const metrics = createMetrics('api');
  const turnGuard = new TurnGuard();
  const empty = defineRoute({
    method: 'POST',
    path: '/empty',
    access: 'key',
    body: { json: { schema: z.strictObject({ model: z.string() }), maxBytes: 1_000 }, needsModel: true },
    handler: async () => json(ANSWER),
  });
  const app = createApp({
    ...opened,
    metrics,
    turnGuard,
    inFlight: createInFlight(),
    readiness: createReadiness(opened.parts, () => undefined),
    routes: [empty],
  });
  await listen(app.callback(), { host, port, metrics, turnGuard });
}
