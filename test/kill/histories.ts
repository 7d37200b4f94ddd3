/** Reads from workflow histories which workers ran a job. */
import type { KillWorld } from './killWorld.ts';

export interface Carried {
  queueId: string;
  /** Unix ms at which a worker completed the first task. A started task may time out and move to another worker. */
  begunAt: number;
  /** Worker version of each workflow task, without consecutive repetitions. */
  versions: string[];
  /** Causes of workflow tasks that failed. */
  failures: string[];
  /** Workflow tasks and activities that timed out, with the kind of timeout. */
  silences: string[];
}

export async function howCarried(world: KillWorld, queueIds: readonly string[]): Promise<Carried[]> {
  const carried: Carried[] = [];
  for (const queueId of queueIds) carried.push(await readHistory(world, queueId));
  return carried;
}

async function readHistory({ temporal }: KillWorld, queueId: string): Promise<Carried> {
  const { events } = await temporal.client.workflow.getHandle(queueId).fetchHistory();
  const first = events?.find((event) => event.workflowTaskCompletedEventAttributes)?.eventTime;
  const begunAt = Number(first?.seconds ?? 0) * 1_000 + (first?.nanos ?? 0) / 1_000_000;
  const told: Carried = { queueId, begunAt, versions: [], failures: [], silences: [] };
  for (const event of events ?? []) {
    const completed = event.workflowTaskCompletedEventAttributes;
    const failed = event.workflowTaskFailedEventAttributes;
    const late = event.workflowTaskTimedOutEventAttributes;
    const started = event.activityTaskStartedEventAttributes;
    const version = completed?.deploymentVersion?.buildId;
    if (version && told.versions.at(-1) !== version) told.versions.push(version);
    if (failed) told.failures.push(`${failed.cause} ${failed.failure?.message}`);
    if (late) told.silences.push(`workflow task ${late.timeoutType}`);
    const lost = started?.lastFailure?.timeoutFailureInfo;
    if (lost) told.silences.push(`step ${lost.timeoutType}`);
  }
  return told;
}
