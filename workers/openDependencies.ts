/** Opens the dependencies of the activities. */
import { join } from 'node:path';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type pg from 'pg';
import { createAccountTurns } from '../activities/accountTransaction.ts';
import type { ActivityDependencies } from '../activities/dependencies.ts';
import { BASE_PATH } from '../domain/basePaths.ts';
import { refundedPerDayOf } from '../domain/limits/refundedPerDay.ts';
import { servesMediaOnly } from '../domain/queues.ts';
import { workFolders } from '../engines/child/workFolders.ts';
import { createAccountShares } from '../infra/accountShares.ts';
import type { Config } from '../infra/config/config.ts';
import { createGuardedFetch } from '../infra/http/guardedFetch.ts';
import { createGuardedPost } from '../infra/http/guardedPost.ts';
import type { Logger } from '../infra/log.ts';
import { type CallbackJob, callbackPath } from '../infra/postgres/callbackToken.ts';
import { openPool } from '../infra/postgres/pool.ts';
import { openStorage } from '../infra/s3/storage.ts';
import { createSemaphore } from '../infra/semaphore.ts';
import { topUpsReached } from '../infra/telemetry/counters.ts';
import { openTemporal, type Temporal } from '../infra/temporal/connect.ts';
import { createProviders } from '../providers/createProviders.ts';
import { createPaymentNetworks } from '../providers/payments/createPaymentNetworks.ts';
import {
  TOP_UP_WORKFLOW,
  type TopUpInput,
  topUpOptions,
  WEBHOOK_WORKFLOW,
  type WebhookInput,
  webhookOptions,
} from '../workflows/contract.ts';
import { MEDIA_WAITING, mediaStepsAtOnce } from './queues.ts';

export interface WorkerDependencies {
  activities: ActivityDependencies;
  temporal: Temporal;
  close(): Promise<void>;
}

const START_LIMIT_MS = 10_000;
const DESCRIBE_LIMIT_MS = 10_000;
const TOP_UP_GONE_MS = 60_000;

export async function openWorkerDependencies(config: Config, log: Logger): Promise<WorkerDependencies> {
  const pool = openPool({ databaseUrl: config.databaseUrl, applicationName: 'farebox-worker', max: 12 });
  const storage = openStorage(config.s3);
  const temporal = openTemporal(config.temporal);
  const folders = workFolders(join(config.dataFolder, 'tmp'));
  await folders.sweep();
  const { ffmpegPath, ffprobePath, espeakPath } = config;
  const tools = { ffmpegPath, ffprobePath, ...(espeakPath && { espeakPath }), workFolder: folders.root };
  const { allowPrivateHosts } = config.fetch;
  const guardedFetch = createGuardedFetch({ allowPrivateHosts });
  const payments = servesMediaOnly(config.workerQueues) ? new Map() : createPaymentNetworks(config);
  // Alert rules see an increase only in an existing series.
  for (const network of payments.keys()) topUpsReached.inc({ provider: network, state: 'wrong' }, 0);
  return {
    temporal,
    activities: {
      pool,
      storage,
      folders,
      tools,
      log,
      models: config.modelCatalogue.byId,
      providers: createProviders(config, { tools, guardedFetch }).queue(),
      providerSettings: config.providers,
      refundedPerDay: (accountId) => refundedPerDayOf(config.limits, accountId),
      callbackUrl: (job) => callbackUrl(config, pool, job),
      guardedFetch,
      ...mediaShares(config),
      accountTurns: createAccountTurns(),
      guardedPost: createGuardedPost({ allowPrivateHosts }),
      isWorkflowOpen: (workflowId) => isOpen(temporal, workflowId),
      startWebhook: (told) => startWebhook(temporal, told),
      payments,
      topUpGoneMs: TOP_UP_GONE_MS,
      startTopUp: (input) => startTopUp(temporal, input),
    },
    async close() {
      storage.close();
      const networks = [...payments.values()].map((network) => network.close?.());
      await Promise.all([pool.end(), temporal.close(), folders.settled(), ...networks]);
    },
  };
}

const MAX_TURN_WAIT_MS = 20_000;

/** Half of the running and of the waiting steps are left to other accounts. */
function mediaShares({ workerSlots, limits }: Config): Pick<ActivityDependencies, 'shares' | 'mediaTurns'> {
  const steps = mediaStepsAtOnce(workerSlots.media);
  return {
    mediaTurns: createSemaphore({
      atOnce: steps,
      maxWaiting: MEDIA_WAITING * steps,
      maxWaitMs: MAX_TURN_WAIT_MS,
    }),
    shares: createAccountShares({
      ...{ steps, maxWaiting: Math.floor((MEDIA_WAITING * steps) / 2) },
      overrideOf: (accountId) => limits.overrides[accountId] ?? {},
    }),
  };
}

async function callbackUrl(
  { providers, publicUrl, isPublic }: Config,
  pool: pg.Pool,
  job: CallbackJob,
): Promise<string | undefined> {
  const wanted = providers[job.provider]?.callbacks ?? isPublic;
  return wanted ? `${publicUrl}${BASE_PATH}${await callbackPath(pool, job)}` : undefined;
}

async function isOpen(temporal: Temporal, workflowId: string): Promise<boolean> {
  try {
    const { status } = await temporal.within(DESCRIBE_LIMIT_MS, (client) =>
      client.workflow.getHandle(workflowId).describe(),
    );
    return status.name === 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

async function startWebhook(temporal: Temporal, told: WebhookInput): Promise<void> {
  try {
    await temporal.within(START_LIMIT_MS, (client) =>
      client.workflow.start(WEBHOOK_WORKFLOW, {
        ...webhookOptions(told),
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    );
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

async function startTopUp(temporal: Temporal, input: TopUpInput): Promise<void> {
  await temporal.within(START_LIMIT_MS, (client) => client.workflow.start(TOP_UP_WORKFLOW, topUpOptions(input)));
}
