/** Runs the top-up workflow with its real activities, server and database. Only the chain is scripted. */
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import type pg from 'pg';
import { createActivities } from '../../activities/createActivities.ts';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import { createLogger } from '../../infra/log.ts';
import { balanceOf } from '../../infra/postgres/ledger.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { findTopUp, paymentIdOf, readTopUp } from '../../infra/postgres/topUps.ts';
import { walletAccountId } from '../../infra/postgres/walletAccounts.ts';
import { workflowModules } from '../../workers/bundle.ts';
import {
  PRESENTED_SIGNAL,
  TOP_UP_WORKFLOW,
  type TopUpInput,
  type TopUpWorkflow,
  topUpOptions,
} from '../../workflows/contract.ts';
import { until } from '../harness/until.ts';
import {
  NETWORK,
  type Script,
  type ScriptedNetwork,
  scriptedNetwork,
  somePayment,
} from '../payments/scriptedNetwork.ts';

/** Replaces one minute. */
const GONE_MS = 300;

export interface TopUpStage {
  client: Client;
  pool: pg.Pool;
  network: ScriptedNetwork;
  /** Lines of the log. */
  log: string[];
  begin(script: Script, input?: TopUpInput): Promise<StagedTopUp>;
  close(): Promise<void>;
}

export type StagedTopUp = Awaited<ReturnType<typeof begin>>;

interface StageOptions {
  databaseUrl: string;
  address: string;
  namespace: string;
}

export async function openTopUpStage({ databaseUrl, address, namespace }: StageOptions): Promise<TopUpStage> {
  const network = scriptedNetwork();
  const log: string[] = [];
  const pool = openPool({ databaseUrl, applicationName: 'top-up-test' });
  const native = await NativeConnection.connect({ address });
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace });
  const given: Partial<ActivityDependencies> = {
    pool,
    log: createLogger({ level: 'info', name: 'test', destination: { write: (line) => log.push(line) } }),
    payments: new Map([[NETWORK, network]]),
    topUpGoneMs: GONE_MS,
    isWorkflowOpen: async (id) => (await client.workflow.getHandle(id).describe()).status.name === 'RUNNING',
    startTopUp: async (input) => {
      await client.workflow.start(TOP_UP_WORKFLOW, topUpOptions(input));
    },
  };
  const activities = createActivities(given as ActivityDependencies);
  const workflowBundle = await bundleWorkflowCode({ ...workflowModules(), logger: SILENT });
  const workers = await Promise.all([
    Worker.create({ connection: native, namespace, taskQueue: 'jobs', workflowBundle, activities }),
    Worker.create({ connection: native, namespace, taskQueue: 'payments', activities }),
  ]);
  const running = Promise.allSettled(workers.map((worker) => worker.run()));
  return {
    ...{ client, pool, network, log },
    begin: (script, input = topUpInput()) => {
      network.play(script);
      return begin({ client, pool }, input);
    },
    async close() {
      for (const worker of workers) worker.shutdown();
      await running;
      await connection.close();
      await native.close();
      await pool.end();
    },
  };
}

const quiet = () => undefined;
const SILENT = { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet };

export function topUpInput(payment = somePayment()): TopUpInput {
  const paymentId = paymentIdOf(payment);
  const accountId = walletAccountId(payment.payer);
  return { paymentId, accountId, payment, decimals: 6, requestId: '0'.repeat(32) };
}

async function begin({ client, pool }: Pick<TopUpStage, 'client' | 'pool'>, input: TopUpInput) {
  const handle = await client.workflow.start<TopUpWorkflow>(TOP_UP_WORKFLOW, topUpOptions(input));
  const present = (settlements: number) => handle.signal(PRESENTED_SIGNAL, { settlements });
  const row = () => readTopUp(pool, input.paymentId);
  const balance = async () => (await balanceOf(pool, input.accountId))?.usd ?? 0n;
  const reaches = (state: string) =>
    until(`a top-up is ${state}`, async () => (await findTopUp(pool, input.paymentId))?.state === state);
  return { input, handle, present, row, balance, reaches };
}
