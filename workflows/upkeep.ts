/** One maintenance task, run by its schedule; visible and repeatable in the Temporal UI. */
import { proxyActivities } from '@temporalio/workflow';
import type { UpkeepActivities } from '../activities/types.ts';
import type { UpkeepDuty, UpkeepOptions } from './contract.ts';

const { performDuty } = proxyActivities<UpkeepActivities>({
  taskQueue: 'jobs',
  startToCloseTimeout: 300_000,
  heartbeatTimeout: 10_000,
  retry: { initialInterval: 2_000, maximumAttempts: 3 },
});

export async function upkeep(duty: UpkeepDuty, options?: UpkeepOptions): Promise<{ done: number }> {
  return await performDuty({ duty, ...options });
}
