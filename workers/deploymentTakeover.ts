/**
 * No job waits for a version that nobody runs any more. Each worker makes its version the current one when it starts, also
 * one of an old version that died and came back while a new version was deployed: once the old workers are gone, every
 * job would wait for them, beside new workers that are given nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import type { TaskQueue } from '../domain/queues.ts';
import type { Logger } from '../infra/log.ts';
import type { Temporal } from '../infra/temporal/connect.ts';
import { currentVersion, DEPLOYMENT_NAME } from './deployment.ts';

/** Where workflows run: without it no job goes on, whoever serves the other queues. */
export const DECIDING_QUEUE: TaskQueue = 'jobs';
const LOOK_EVERY_MS = 15_000;
const LOOK_LIMIT_MS = 10_000;
/** A poll lasts a minute at most: a living worker asks anew within so many looks. */
const PATIENCE = 5;

export interface Version {
  namespace: string;
  buildId: string;
  /** After so many looks that saw no new poll, the current version counts as gone. */
  patience?: number;
}

export interface DeploymentTakeover {
  /** Makes this version the current one if nobody runs the current one any more; true when it did. */
  attempt(): Promise<boolean>;
}

export function openDeploymentTakeover(temporal: Temporal, version: Version): DeploymentTakeover {
  const { namespace, buildId, patience = PATIENCE } = version;
  let known = '';
  let unchanged = 0;

  async function lookThrough(client: Client): Promise<boolean> {
    const { workerDeploymentInfo, conflictToken } = await client.workflowService.describeWorkerDeployment({
      namespace,
      deploymentName: DEPLOYMENT_NAME,
    });
    const current = workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId;
    // A server that was restarted forgot all polls. So what counts is not how old one is, but that no other one comes.
    const found = `${current} ${await lastPoll(client, namespace, current)}`;
    unchanged = found === known ? unchanged + 1 : 0;
    known = found;
    if (current === buildId || unchanged < patience) return false;
    // Refused if a worker that started meanwhile, or another one that looked, was quicker.
    const wish = { ...currentVersion(namespace, buildId), conflictToken };
    await client.workflowService.setWorkerDeploymentCurrentVersion(wish);
    return true;
  }

  return {
    async attempt() {
      try {
        return await temporal.within(LOOK_LIMIT_MS, lookThrough);
      } catch (error) {
        // Others could not reach the server either: they get their time anew.
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

/** Looks again and again, until the worker is told to stop. */
export async function watchDeployment(
  takeover: DeploymentTakeover,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
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
