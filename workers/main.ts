/** One worker process: serves the configured task queues until it is told to stop, then finishes its running steps. */
import '../infra/steadyHeap.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DefaultLogger,
  makeTelemetryFilterString,
  NativeConnection,
  Runtime,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import { type Activities, createActivities } from '../activities/createActivities.ts';
import { watchActivity } from '../activities/watch.ts';
import type { TaskQueue } from '../domain/queues.ts';
import { reportDecoderIsolation } from '../engines/child/isolation.ts';
import { type Config, loadConfig } from '../infra/config/config.ts';
import { armFailpoints } from '../infra/failpoints.ts';
import { createMonitorAccess } from '../infra/http/monitorAccess.ts';
import { createTrustedProxies } from '../infra/http/trustedProxies.ts';
import { createLogger, type Logger } from '../infra/log.ts';
import { createWorkerRegistry } from '../infra/telemetry/metrics.ts';
import { type MetricsServer, serveMetrics } from '../infra/telemetry/metricsServer.ts';
import { startTracing } from '../infra/telemetry/startTracing.ts';
import { PROVIDERS } from '../providers/registry.ts';
import { bundlePath } from './bundle.ts';
import { versioned } from './deployment.ts';
import { DECIDING_QUEUE, openDeploymentTakeover, watchDeployment } from './deploymentTakeover.ts';
import { openWorkerDependencies } from './openDependencies.ts';
import { prepareServer } from './prepareServer.ts';
import { MAX_CACHED_WORKFLOWS, MAX_LOCAL_ACTIVITIES, MAX_WORKFLOW_TASKS, planOf, STICKY_LIMIT_MS } from './queues.ts';
import { tracingSinks } from './tracing.ts';

/** Time for running steps before the process leaves them to another one. */
const SHUTDOWN_GRACE_MS = 20_000;
const SHUTDOWN_FORCE_MS = 28_000;

async function main(): Promise<void> {
  const config = loadConfig(PROVIDERS);
  const log = createLogger({ level: config.logLevel, name: 'worker' });
  armFailpoints(config.testPoint);
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  installRuntime(log);
  reportDecoderIsolation(log);
  const tracing = await startTracing(config, 'worker', log);
  const metrics = await exportMetrics(config, log);
  const connection = await connect(config, log, stop.signal);
  const dependencies = await openWorkerDependencies(config, log);
  const activities = createActivities(dependencies.activities);
  const workers = await Promise.all(
    config.workerQueues.map((queue) => createWorker(queue, { config, connection, activities })),
  );
  stop.signal.addEventListener('abort', () => {
    for (const worker of workers) worker.shutdown();
  });
  const { temporal } = dependencies;
  const version = { namespace: config.temporal.namespace, buildId: config.buildId };
  // Runs beside the work: a server that cannot do this now must not delay jobs.
  void prepareServer({ temporal, ...version, log, signal: stop.signal });
  if (config.workerQueues.includes(DECIDING_QUEUE)) {
    void watchDeployment(openDeploymentTakeover(temporal, version), log, stop.signal);
  }
  log.info({ queues: config.workerQueues, buildId: config.buildId }, 'worker ready');
  await Promise.all(workers.map((worker) => worker.run()));
  await dependencies.close();
  await connection.close();
  await tracing.stop();
  metrics?.close();
  log.info('worker stopped');
}

/** Only on request: workers on one machine would compete for one port. */
async function exportMetrics(config: Config, log: Logger): Promise<MetricsServer | undefined> {
  if (config.workerMetricsPort === undefined) return undefined;
  const { host, workerMetricsPort: port, metricsToken: token } = config;
  const mayMonitor = createMonitorAccess({
    token,
    proxies: createTrustedProxies(config.limits.trustedProxies),
  });
  const server = await serveMetrics(createWorkerRegistry(), { host, port, mayMonitor });
  log.info({ host, port: server.port }, 'metrics are served');
  return server;
}

/** The server may start later: the worker waits for it and logs that. */
async function connect(config: Config, log: Logger, signal: AbortSignal): Promise<NativeConnection> {
  for (;;) {
    try {
      return await connectOnce(config.temporal.address);
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn({ err: error, address: config.temporal.address }, 'Temporal is not reachable yet');
      await sleep(1_000, undefined, { signal });
    }
  }
}

const CONNECT_LIMIT_MS = 15_000;

/** An address that drops packets must not hold the process for ever in silence. */
async function connectOnce(address: string): Promise<NativeConnection> {
  const connecting = NativeConnection.connect({ address });
  const late = new AbortController();
  const expiry = sleep(CONNECT_LIMIT_MS, undefined, { signal: late.signal }).then(() => {
    // A connection that comes later is closed.
    connecting.then((connection) => connection.close()).catch(() => undefined);
    throw new Error('no answer in time');
  });
  try {
    return await Promise.race([connecting, expiry]);
  } finally {
    late.abort();
    expiry.catch(() => undefined);
  }
}

interface WorkerParts {
  config: Config;
  connection: NativeConnection;
  activities: Activities;
}

async function createWorker(queue: TaskQueue, parts: WorkerParts): Promise<Worker> {
  const { config, connection, activities } = parts;
  const plan = planOf(queue, config.workerSlots[queue]);
  const options: WorkerOptions = {
    connection,
    namespace: config.temporal.namespace,
    taskQueue: queue,
    activities: Object.fromEntries(plan.activities.map((name) => [name, activities[name]])),
    maxConcurrentActivityTaskExecutions: plan.slots,
    shutdownGraceTime: SHUTDOWN_GRACE_MS,
    shutdownForceTime: SHUTDOWN_FORCE_MS,
    workerDeploymentOptions: versioned(config.buildId),
    interceptors: { activity: [watchActivity] },
    sinks: tracingSinks,
  };
  if (!plan.runsWorkflows) return await Worker.create(options);
  return await Worker.create({
    ...options,
    workflowBundle: { codePath: bundlePath() },
    maxConcurrentWorkflowTaskExecutions: MAX_WORKFLOW_TASKS,
    maxConcurrentLocalActivityExecutions: MAX_LOCAL_ACTIVITIES,
    maxCachedWorkflows: MAX_CACHED_WORKFLOWS,
    stickyQueueScheduleToStartTimeout: STICKY_LIMIT_MS,
  });
}

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** Writes the SDK's log lines to our log. */
function installRuntime(log: Logger): void {
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      const { error, workflowId, activityType, taskQueue } = meta ?? {};
      log[LEVELS[level]]({ err: error, workflowId, activityType, taskQueue }, message);
    }),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
    },
    // Our signal handlers decide when to stop.
    shutdownSignals: [],
  });
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
process.exit();
