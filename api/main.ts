/** One API process: serves until it is stopSignal to stop, then finishes the requests in flight. */
import '../infra/steadyHeap.ts';
import { reportDecoderIsolation } from '../engines/child/isolation.ts';
import { type Config, loadConfig } from '../infra/config/config.ts';
import { armFailpoints } from '../infra/failpoints.ts';
import { createLogger, type Logger } from '../infra/log.ts';
import { registerLedgerMetrics } from '../infra/telemetry/ledgerMetrics.ts';
import { createMetrics, type Metrics } from '../infra/telemetry/metrics.ts';
import { registerProviderMetrics } from '../infra/telemetry/providerMetrics.ts';
import { registerQueueMetrics } from '../infra/telemetry/queueMetrics.ts';
import { startTracing } from '../infra/telemetry/startTracing.ts';
import { PROVIDERS } from '../providers/registry.ts';
import { createApp } from './app.ts';
import { addFoundModels } from './foundModels.ts';
import { createReadiness } from './http/health.ts';
import { type OpenedDependencies, openDependencies } from './openDependencies.ts';
import { ROUTES } from './routes.ts';
import { drain, waitForCutRequests } from './server/drain.ts';
import { createInFlight } from './server/inFlight.ts';
import { listen } from './server/listen.ts';
import { TurnGuard } from './server/turnGuard.ts';

async function main(): Promise<void> {
  const configured = loadConfig(PROVIDERS);
  const log = createLogger({ level: configured.logLevel, name: 'api' });
  armFailpoints(configured.testPoint);
  const metrics = createMetrics('api');
  surviveMistakes(log, metrics);
  reportDecoderIsolation(log);
  const tracing = await startTracing(configured, 'api', log);
  const stopSignal = waitForStopSignal();
  const config = await addFoundModels(configured, log);
  const opened = await openDependencies(config, log);
  const inFlight = createInFlight();
  const turnGuard = new TurnGuard();
  const app = createApp({
    ...opened,
    ...{ inFlight, turnGuard, metrics },
    readiness: readinessOf(opened, log),
    routes: ROUTES,
  });
  registerLedgerMetrics(metrics.registry, opened.dependencies.core.sql, config.x402.networks);
  registerProviderMetrics(metrics.registry, opened.dependencies.core.sql, config.providers);
  registerQueueMetrics(metrics.registry, opened.dependencies.jobs.temporal);
  const { proxies } = opened.dependencies.limits;
  const server = await listen(app.callback(), { ...address(config), metrics, turnGuard, proxies });
  log.info({ ...address(config), buildId: config.buildId }, 'api ready');

  const signal = await stopSignal;
  log.info({ signal, count: inFlight.count }, 'api stopping');
  const finished = await drain(server, inFlight, config.drainSeconds * 1_000);
  if (!finished) {
    log.warn({ count: inFlight.count }, 'some answers were not finished in time');
    await waitForCutRequests(inFlight);
  }
  await opened.close();
  await tracing.stop();
  log.info('api stopped');
}

function address({ host, port }: Config) {
  return { host, port };
}

function readinessOf(opened: OpenedDependencies, log: Logger) {
  return createReadiness(opened.parts, (part, err) => log.warn({ part, err }, 'a part does not answer'));
}

function waitForStopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal));
  });
}

/**
 * An uncaught error belongs to one request or background task; the others need not suffer. It is logged and counted, so
 * that an operator who sees the counter move can report it.
 */
function surviveMistakes(log: Logger, metrics: Metrics): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (err: unknown) => {
      metrics.uncaught.inc();
      log.fatal({ err, event }, 'an error that nothing caught');
    });
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
process.exit();
