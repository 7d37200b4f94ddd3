/**
 * Takes over a version without workers. Each worker makes its version the current one at its start, also a worker of an
 * old version that was restarted while a new version was deployed: once the old workers are gone, every job would wait
 * for them, beside new workers without work.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import type { TaskQueue } from '../domain/queues.ts';
import type { Logger } from '../infra/log.ts';
import type { Temporal } from '../infra/temporal/connect.ts';
import { currentVersion, DEPLOYMENT_NAME } from './deployment.ts';

/** Task queue of the workflows: without it no job goes on, whatever serves the other queues. */
export const DECIDING_QUEUE: TaskQueue = 'jobs';
const LOOK_EVERY_MS = 15_000;
const LOOK_LIMIT_MS = 10_000;
/** A poll lasts a minute at most: a living worker polls again within this many checks. */
const PATIENCE = 5;

export interface WorkerVersion {
  namespace: string;
  buildId: string;
  /** After so many checks without a new poll the current version counts as gone. */
  patience?: number;
}

export interface DeploymentTakeover {
  /** Makes this version the current one if the current one has no workers; true when it did. */
  attempt(): Promise<boolean>;
}

export function openDeploymentTakeover(temporal: Temporal, version: WorkerVersion): DeploymentTakeover {
  const { namespace, buildId, patience = PATIENCE } = version;
  let known = '';
  let unchanged = 0;

  async function lookThrough(client: Client): Promise<boolean> {
    const { workerDeploymentInfo, conflictToken } = await client.workflowService.describeWorkerDeployment({
      namespace,
      deploymentName: DEPLOYMENT_NAME,
    });
    const current = workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId;
    // A restarted server has lost all polls. So the age of the last one does not count, but that no other one comes.
    const found = `${current} ${await lastPoll(client, namespace, current)}`;
    unchanged = found === known ? unchanged + 1 : 0;
    known = found;
    if (current === buildId || unchanged < patience) return false;
    // Refused if another worker was faster.
    const request = { ...currentVersion(namespace, buildId), conflictToken };
    await client.workflowService.setWorkerDeploymentCurrentVersion(request);
    return true;
  }

  return {
    async attempt() {
      try {
        return await temporal.within(LOOK_LIMIT_MS, lookThrough);
      } catch (error) {
        // Other workers could not reach the server either: they get their time anew.
        known = '';
        throw error;
      }
    },
  };
}

/** Unix ms by the server's clock; 0 when there was none. */
async function lastPoll(client: Client, namespace: string, version?: string | null): Promise<number> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: DECIDING_QUEUE },
  });
  const own = (pollers ?? []).filter(({ deploymentOptions }) => deploymentOptions?.buildId === version);
  return Math.max(0, ...own.map(({ lastAccessTime }) => (lastAccessTime ? tsToMs(lastAccessTime) : 0)));
}

/** Checks periodically until the worker is told to stop. */
export async function watchDeployment(takeover: DeploymentTakeover, log: Logger, signal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      if (await takeover.attempt()) log.warn('this version took over: nobody ran the current one any more');
    } catch (error) {
      log.debug({ err: error }, 'the versions of the workers could not be looked at');
    }
  }
}
