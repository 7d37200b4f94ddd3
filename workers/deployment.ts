/**
 * Worker versioning. Jobs live as long as their media are kept, so a new version takes over the running ones
 * (AUTO_UPGRADE): what protects them is the replay of recorded histories, not old workers kept alive for a day.
 */
import type { Client } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';

export const DEPLOYMENT_NAME = 'farebox';

export function versioned(buildId: string): NonNullable<WorkerOptions['workerDeploymentOptions']> {
  return {
    version: { deploymentName: DEPLOYMENT_NAME, buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: 'AUTO_UPGRADE',
  };
}

const TRIES = 60;

/** Makes this build the current one. The server learns of a version by its first poll, so this waits for that. */
export async function makeCurrent(client: Client, namespace: string, buildId: string): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    try {
      await client.workflowService.setWorkerDeploymentCurrentVersion(currentVersion(namespace, buildId));
      return;
    } catch (error) {
      if (tried >= TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

/** Request that makes a build the current one. */
export function currentVersion(namespace: string, buildId: string) {
  return {
    ...{ namespace, buildId, deploymentName: DEPLOYMENT_NAME },
    ignoreMissingTaskQueues: true,
    identity: 'farebox-worker',
  };
}
