/** Maintenance schedules, created once and updated by every worker that starts. */
import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { UPKEEP_DUTIES, UPKEEP_WORKFLOW, type UpkeepDuty } from '../workflows/contract.ts';

const EVERY: Record<UpkeepDuty, '1m' | '10m' | '1h'> = {
  expireHolds: '1m',
  reconcileJobs: '1m',
  sweepObjects: '10m',
  purgeIdempotencyKeys: '1h',
  // Nonces of sign-ins are needed for minutes only, and anybody can create more.
  purgeSignInNonces: '1m',
  tellUntold: '10m',
  purgeWebhooks: '1h',
  reconcileTopUps: '1m',
  preparePartitions: '1h',
};

export async function ensureSchedules(client: Client): Promise<void> {
  for (const duty of UPKEEP_DUTIES) await ensureSchedule(client, duty);
}

async function ensureSchedule(client: Client, duty: UpkeepDuty): Promise<void> {
  const schedule = {
    spec: { intervals: [{ every: EVERY[duty] }], jitter: '10s' },
    action: {
      type: 'startWorkflow' as const,
      workflowType: UPKEEP_WORKFLOW,
      args: [duty],
      taskQueue: 'jobs',
      workflowId: `upkeep-${duty}`,
      workflowExecutionTimeout: '10m',
      staticSummary: `upkeep: ${duty}`,
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' },
  };
  try {
    await client.schedule.create({ scheduleId: `farebox-${duty}`, ...schedule });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await client.schedule.getHandle(`farebox-${duty}`).update((current) => ({ ...schedule, state: current.state }));
  }
}
